"""Learning of related tasks along a tree (Görnitz et al. 2011)."""
