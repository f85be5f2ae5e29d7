from .data_sets import DatasetUnavailable as DatasetUnavailable
from .models import load as load
from .shards import ShardFolder as ShardFolder
from .shards import ShardWriter as ShardWriter
from .shards import open_shards as open_shards
from .shards import write_shards as write_shards
