import sys

sys.path.insert(0, sys.argv[1])
from pathlib import Path

from hookrun.process.pool import Pool
from tests.process.bench import Bench


class Same(Bench):
    def __init__(self) -> None:
        self.directory = Path(sys.argv[2])


pool = Pool(4)
for _ in range(8):
    assert pool.run([Same().task(sys.argv[3], lock=sys.argv[4])])[0].failure is None
