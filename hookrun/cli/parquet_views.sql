-- Views over the Parquet files in this directory, for DuckDB: `duckdb -init views.sql`.

-- The records of the log, each with the field `counted`: the run that `hookrun stats` counts it for.
CREATE OR REPLACE VIEW records AS SELECT * FROM read_parquet('*.parquet', union_by_name = true);

-- Each hook's figures, as `hookrun stats` has them.
CREATE OR REPLACE VIEW hooks AS
SELECT
    counted.name AS name,
    counted.source AS source,
    count(counted.ms) AS runs,
    coalesce(histogram(counted.failure), MAP {}) AS failures,
    quantile_disc(counted.ms, 0.5) AS p50_ms,
    quantile_disc(counted.ms, 0.95) AS p95_ms,
    max(counted.ms) AS max_ms
FROM records
WHERE counted.name IS NOT NULL
GROUP BY ALL
ORDER BY sum(counted.ms) DESC NULLS LAST;

-- hookrun's own time for each event.
CREATE OR REPLACE VIEW hookrun AS
SELECT
    count(counted.ms) AS runs,
    coalesce(histogram(counted.failure), MAP {}) AS failures,
    quantile_disc(counted.ms, 0.5) AS p50_ms,
    quantile_disc(counted.ms, 0.95) AS p95_ms,
    max(counted.ms) AS max_ms
FROM records
WHERE counted IS NOT NULL AND counted.name IS NULL;
