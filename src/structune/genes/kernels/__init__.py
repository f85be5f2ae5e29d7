"""What both gene models compile."""
