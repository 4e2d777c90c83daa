"""Print every value of the records and the figures in a directory that `hookrun log --to parquet` has written."""

import sys
from pathlib import Path

import duckdb

directory = sys.argv[1]
with duckdb.connect() as database:
    database.execute(f"SET file_search_path = '{directory}'")
    database.execute((Path(directory) / "views.sql").read_text())
    for view in ("records", "hooks"):
        for row in database.table(view).fetchall():
            print(*row, sep="\n")
