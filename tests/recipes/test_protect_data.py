"""The recipe `protect-data`: the target decides, code and files are read, and other catalogues count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookrun.recipes import protect_data
from hookrun.recipes.catalogue import compiled_rows, compiling
from hookrun.recipes.recipe import WrongOptionError
from tests.rows import rows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.recipes.account import Account

RESET = "npx prisma migrate reset"
PROD, HERE, OTHER = "postgres://u:pw@db.prod.example.com/a", "postgres://localhost/a", "postgres://db.example.com/a"

TARGETS = [
    # files, variables of the agent, line, what is done
    ({}, {}, RESET, "ask"),
    ({".env": f"DATABASE_URL={PROD}\n"}, {}, RESET, "block"),
    ({".env": f'# DATABASE_URL={PROD}\nexport DATABASE_URL="{HERE}" # mine\n'}, {}, RESET, "continue"),
    ({".env": f"DATABASE_URL={OTHER}\nNODE_ENV=development\n"}, {}, RESET, "ask"),
    ({".env": f"DATABASE_URL={HERE}\nNODE_ENV=production\n"}, {}, RESET, "block"),
    ({".env": f"DATABASE_URL={PROD}\n"}, {"DATABASE_URL": HERE}, RESET, "continue"),
    ({".env": f"DATABASE_URL={HERE}\n"}, {}, f"DATABASE_URL={PROD} {RESET}", "block"),
    ({".env": f"DATABASE_URL={HERE}\n"}, {}, f"export DATABASE_URL={PROD}; {RESET}", "block"),
    ({}, {"DATABASE_URL": PROD}, RESET, "block"),
    ({}, {"NODE_ENV": "test"}, RESET, "continue"),
    ({"api/.env": f"DATABASE_URL={PROD}\n"}, {}, f"cd api && {RESET}", "block"),
    ({"api/.env": f"DATABASE_URL={PROD}\n"}, {}, RESET, "ask"),
    ({".env": f"DATABASE_URL={HERE}\n"}, {}, f"source .env && {RESET}", "continue"),
    ({}, {"DATABASE_URL": HERE}, 'psql "$DATABASE_URL" -c "DROP TABLE a"', "continue"),
    ({}, {"DATABASE_URL": PROD}, 'psql "$DATABASE_URL" -c "DROP TABLE a"', "block"),
    ({".env": f"URL={PROD}\n"}, {}, 'source .env; psql "${URL}" -c "DROP TABLE a"', "block"),
    ({}, {}, 'psql "$PROD_URL" -c "DROP TABLE a"', "block"),
    ({}, {}, 'psql "$URL" -c "DROP TABLE a"', "ask"),
    ({}, {"PGHOST": "localhost"}, 'psql a -c "DROP TABLE a"', "ask"),
    ({}, {"PGHOST": "db.prod.example.com"}, 'psql -c "DROP TABLE a"', "block"),
    ({".env.production": f"DATABASE_URL={PROD}\n"}, {}, f"dotenv -e .env.production -- {RESET}", "block"),
    ({".env": "APP_ENV=production\n", ".env.testing": "DB_HOST=127.0.0.1\n"}, {}, "php artisan db:wipe --env=testing",
     "continue"),
    ({".env": "APP_ENV=production\n"}, {}, "php artisan db:wipe --env=testing", "block"),
    ({}, {"RAILS_ENV": "production"}, "bin/rails db:drop", "block"),
    ({}, {"RAILS_ENV": "production"}, "RAILS_ENV=test bin/rails db:drop", "continue"),
    ({}, {}, "ssh web1 'psql -h localhost a -c \"DROP TABLE a\"'", "ask"),
    ({}, {}, "kubectl --context prod exec p -- psql -c 'DROP TABLE a'", "block"),
    ({}, {}, "docker exec shop-test-db psql -c 'DROP TABLE a'", "continue"),
    ({}, {}, "mysql -h db.acme.dev shop -e 'DROP TABLE a'", "ask"),
    ({}, {}, "mysql -h products.example.com shop -e 'DROP TABLE a'", "ask"),
]  # fmt: skip


@pytest.mark.parametrize("case", TARGETS, ids=range(len(TARGETS)))
def test_the_target_decides(
    case: tuple[dict[str, str], dict[str, str], str, str], account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Production is blocked, a test or this machine is allowed; the user is asked about the others."""
    files, environment, line, action = case
    for name, text in files.items():
        account.write(name, text)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert account.wrong("protect_data", [line], action) == []


def test_no_password_is_shown(nobody: Account) -> None:
    """The address is, so that the user knows what is meant."""
    answer = nobody.answer("protect_data", f"DATABASE_URL={PROD}?password=x {RESET}")
    assert answer is not None
    assert "db.prod.example.com/a" in answer["message"]
    assert "pw" not in answer["message"]
    assert "password" not in answer["message"]


def test_the_names_of_production_and_tests_are_options(nobody: Account) -> None:
    """Globs of a name, or of a word in it."""
    nobody.options(production="*.live.example.com blue", tests="qa*")
    lines = {
        "psql -h db.live.example.com a -c 'DROP TABLE a'": "block",
        "psql -h blue-1 a -c 'DROP TABLE a'": "block",
        "psql -h prod-1 a -c 'DROP TABLE a'": "ask",
        "psql shop_qa2 -c 'DROP TABLE a'": "continue",
        "psql shop_test -c 'DROP TABLE a'": "ask",
    }
    assert [wrong for line, action in lines.items() for wrong in nobody.wrong("protect_data", [line], action)] == []


CATALOGUE = """
- tool: shopctl
  guard: protect-data
  names: ["*"]
  target: database
  harms:
    - verbs: [wipe]
      loses: all carts
      do: block
"""


def test_a_catalogue_of_ones_own_counts(account: Account) -> None:
    """A file, or the files of a directory; a change counts at once."""
    path = account.write("mine/shop.yaml", CATALOGUE)
    for named in (path, path.parent):
        account.options(catalogues=named)
        assert account.wrong("protect_data", ["shopctl wipe eu", "sudo shopctl wipe"], "block") == []
        assert account.wrong("protect_data", ["shopctl list", "shopctl wipe test-eu"], "continue") == []
        assert account.wrong("protect_data", [RESET], "ask") == []
    path.write_text(CATALOGUE.replace("wipe", "erase"))
    assert account.wrong("protect_data", ["shopctl erase eu"], "block") == []


def test_a_package_adds_a_catalogue(account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By an entry point, whose module is beside the YAML."""
    package, info = tmp_path / "site" / "shop_hooks", tmp_path / "site" / "shop_hooks-1.dist-info"
    for each in (package, info):
        each.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "shop.yaml").write_text(CATALOGUE)
    (info / "METADATA").write_text("Name: shop_hooks\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{compiled_rows.GROUP}]\nshop = shop_hooks\n")
    monkeypatch.syspath_prepend(str(package.parent))
    account.options(catalogues="shop")
    assert account.wrong("protect_data", ["shopctl wipe eu"], "block") == []


@rows("text", ["- tool: [", "- tool: a", "a: 1", CATALOGUE + "      lose: x\n", CATALOGUE.replace("block", "stop")])
def test_a_wrong_catalogue_ends_the_guard(text: str, account: Account) -> None:
    """It guards nothing until that is mended, so it must not look as if it did."""
    account.options(catalogues=account.write("mine.yaml", text))
    with pytest.raises(WrongOptionError, match="CATALOGUES"):
        account.answer("protect_data", "ls")


@rows("named", ["gone", "/gone.yaml"])
def test_a_catalogue_that_is_not_found_ends_the_guard(named: str, account: Account) -> None:
    """Whatever the line is."""
    account.options(catalogues=named)
    with pytest.raises(WrongOptionError, match="CATALOGUES"):
        account.answer("protect_data", "ls")


def test_a_harmless_line_needs_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The names of programs are enough, so that most calls cost no parsing."""
    monkeypatch.setattr(compiled_rows, "_shipped", lambda: pytest.fail("the rows were read"))
    for line in ("ls -la", "npm test", "git status", "python -m pytest -q", "make", "node server.js"):
        call = {"event": "pre_tool_use", "tool_name": "bash", "tool_args": {"command": line}}
        assert not protect_data.concerns(call)


@rows("line", ["psql <<< '\"", "if psql shop -c 'DROP TABLE a'; then ((", "npx prisma migrate reset && for ("])
def test_what_cannot_be_read_as_shell_and_looks_harmful_is_not_allowed(line: str, nobody: Account) -> None:
    """One that looks harmless is."""
    assert (nobody.answer("protect_data", line) is not None) == ("DROP" in line or "reset" in line)


@rows("line", ["'#1' a $x", "'guard protect-data' a $x", "'' a $x"])
def test_no_odd_name_of_a_program_ends_the_guard(line: str, nobody: Account) -> None:
    """Some are in the compiled form, and mean something else there."""
    assert nobody.answer("protect_data", line) is None


def test_the_compiler_names_what_is_wrong(tmp_path: Path) -> None:
    """The file, the tool and the field."""
    path = tmp_path / "a.yaml"
    path.write_text(CATALOGUE + "      lose: x\n")
    with pytest.raises(ValueError, match=r"a\.yaml: shopctl: unknown fields: lose"):
        compiling.entries([str(path)])
