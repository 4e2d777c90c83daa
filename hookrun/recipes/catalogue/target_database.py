"""Find the database at which a call is aimed: by its words, its variables, and the files with variables beside it."""

from __future__ import annotations

import re

from hookrun.recipes.catalogue.target_kinds import Target, variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrun.recipes.catalogue.tool_call import ToolCall

_PLACES = (
    "DATABASE_URL DB_URL DATABASE_URI SQLALCHEMY_DATABASE_URI SQLALCHEMY_DATABASE_URL JDBC_DATABASE_URL DIRECT_URL "
    "POSTGRES_URL POSTGRES_PRISMA_URL MYSQL_URL MONGODB_URI MONGO_URI MONGO_URL MONGODB_URL REDIS_URL DB_HOST "
    "DATABASE_HOST POSTGRES_HOST MYSQL_HOST PGHOST DB_DATABASE DB_NAME DATABASE_NAME POSTGRES_DB MYSQL_DATABASE "
    "PGDATABASE"
)
# Variables by which programs find their database, where a row names no others.
PLACES = _PLACES.split()
_MODES = (
    "RAILS_ENV RACK_ENV NODE_ENV APP_ENV MIX_ENV HANAMI_ENV DJANGO_SETTINGS_MODULE DJANGO_CONFIGURATION DJANGO_ENV "
    "FLASK_ENV FLASK_CONFIG ASPNETCORE_ENVIRONMENT DOTNET_ENVIRONMENT SPRING_PROFILES_ACTIVE ENVIRONMENT ENV STAGE"
)
# Variables that say in which environment a program runs.
MODES = _MODES.split()
# Options that say it.
# Addresses and files in code.
ADDRESS = re.compile(
    r"(?:[\w+]+://[^\s'\"`]+|:memory:|\b(?:localhost|127\.0\.0\.1)\b|(?<=['\"])[^'\"\s]+\.(?:db|sqlite3?|duckdb)(?=['\"]))"
)
MODE_OPTIONS = ("--env", "-e", "--environment", "--settings", "--profile", "-env", "-E")


def database(call: ToolCall) -> Target:
    """Return the places of a call's words if they name any, else those of its variables; its modes in any case."""
    modes = [value for name, value in call.options if name in call.row.get("modes", MODE_OPTIONS)]
    modes += (each.rpartition("/")[2].removeprefix(".env.") for each in call.around if ".env" in each)
    named = [*call.named(), *_addresses(call), *(ADDRESS.findall(call.code) if "words" in call.row else ())]
    mode = modes[-1] if modes else ""
    variables = call.row.get("variables", PLACES)
    places = named or [value for name in variables if (value := variable(call, name, mode))]
    modes += (value for name in MODES if (value := variable(call, name, mode)))
    return Target(places, modes, remote=call.is_remote)


def _addresses(call: ToolCall) -> Iterator[str]:
    """Yield addresses in a call's words, also those of `host=... dbname=...`."""
    for text in (*(value for _, value in call.options), *(text for text, _ in call.operands)):
        if " " not in text and ("://" in text or text.startswith(("jdbc:", "file:", "sqlite:"))):
            yield text
        else:
            yield from re.findall(
                r"(?:^|[\s;])(?:host|hostaddr|dbname|service|Server|Database|Data Source)=([^\s;]+)", text
            )
