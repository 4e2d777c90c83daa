"""The recipe `protect-data`: asks before data in a database is destroyed, and blocks that in production."""

from __future__ import annotations

from hookrun.recipes.catalogue import may_lose
from hookrun.recipes.recipe import Recipe
from hookrun.recipes.shell_recipe import SHELL_TOOLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

RECIPE = Recipe(
    "protect-data",
    "Ask before data in a database is destroyed; block it in production.",
    options=may_lose.OPTIONS,
    catches="""
        - SQL that drops tables, schemas, databases, columns or partitions, truncates, and deletes or updates rows
          without a condition (`WHERE 1=1` is none), given to `psql`, `mysql`, `sqlite3`, `duckdb`,
          `clickhouse-client`, `cqlsh`, `sqlcmd`, `snowsql`, `bq`, `wrangler d1` and others: as an argument, by a
          pipe, a here-document or a file.
        - What does the same in MongoDB, Redis, Neo4j, InfluxDB, etcd, Elasticsearch (`curl -X DELETE`) and Kafka, and
          `dropdb`, `mysqladmin drop`, `mongorestore --drop`, `pg_restore --clean`.
        - The destructive commands of Prisma, Drizzle, TypeORM, Sequelize, Knex, MikroORM, Rails, Django, Alembic,
          Flask, Laravel, Doctrine, Phinx, WordPress, Drush, Ecto, EF Core, Flyway, Liquibase, goose, golang-migrate,
          dbmate, Atlas, SQLx, Diesel, SeaORM, Sqitch, Hasura, Supabase, Neon and others: resets, drops, migrations
          undone.
        - SQL in the arguments of MCP tools of databases (`execute_sql`), and their tools that delete.
        - Code that does it, in `python -c`, `node -e`, `ruby -e`, `php -r`, `rails runner`, `manage.py shell -c`,
          `artisan tinker` and here-documents for them.
        - All of these behind `npx`, `bundle exec`, `uv run`, `docker exec`, `kubectl exec`, `sudo`, `ssh` and
          similar.
        - The target decides. Production is blocked: by a name in the line, in variables of the line or the agent
          (`DATABASE_URL`, `RAILS_ENV`, ...) or in a file `.env` of the directory. This machine, tests, databases in
          memory and temporary files are allowed. The user is asked about any other.
    """,
    misses="""
        - Rows deleted by a condition that is true for all of them.
        - What a script, a migration file or a procedure does, unless a client is given the file.
        - Targets that configuration files of the tools name (`database.yml`, `prisma.config.ts`): they are unknown.
        - A tunnel: `localhost` counts as this machine.
        - SQL that a program makes, and input that another program writes (`pg_dump shop | psql other`).
        - Programs that are not in the catalogue; add them with the option `catalogues`.
    """,
)


def concerns(context: Mapping[str, object]) -> bool:
    """Return whether the call may destroy data. False is certain."""
    return may_lose.concerns(RECIPE, context)


@RECIPE.hook("pre_tool_use", matcher=SHELL_TOOLS, priority=20, timeout=10, on_failure="block", concerns=concerns)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block of a call that destroys data in production, or a question where the target is unknown."""
    from hookrun.recipes.catalogue.deciding import CatalogueGuard

    return CatalogueGuard(RECIPE, context).verdict()
