"""protect-tests: calls that take tests away in many languages, and what a turn did to tests, in real repositories."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.rows import rows

if TYPE_CHECKING:
    from tests.recipes.account import Account

GUARD = "protect_tests"
IDENTITY = ("-c", "user.name=me", "-c", "user.email=me@example.com")
TEST = "def test_total():\n    assert total() == 42\n"


def git(account: Account, *words: str) -> None:
    """Run git in the account's working directory."""
    subprocess.run(["git", "-C", str(account.work), *IDENTITY, *words], check=True, capture_output=True)


@pytest.fixture
def shop(account: Account) -> Account:
    """Return an account in a repository with a module and its test."""
    account.write("shop.py", "def total():\n    return 42\n")
    account.write("tests/test_shop.py", TEST)
    git(account, "init", "-q")
    git(account, "add", "-A")
    git(account, "commit", "-qm", "Begin")
    return account


def edit(account: Account, path: str, old: str, new: str) -> str:
    """Return the action on an edit."""
    args = {"file_path": path, "old_string": old, "new_string": new}
    answer = account.call(GUARD, event="pre_tool_use", tool_name="edit", tool_args=args)
    return "continue" if answer is None else str(answer["action"])


@rows(
    "path, old, new",
    [
        ("test_a.py", "def test_a", "@unittest.skip('later')\ndef test_a"),
        ("test_a.py", "x = f()", "pytest.xfail('broken')"),
        ("a.spec.ts", "test('adds', ", "test.only('adds', "),
        ("e2e/a.ts", "test('adds', ", "test.fixme('adds', "),
        ("a.test.jsx", "it('a', run)\nit('b', run)", "it('a', run)"),
        ("a_test.go", "func TestA(", "func testA("),
        ("src/a.rs", "#[test]\nfn", '#[test]\n#[ignore = "slow"]\nfn'),
        ("spec/a_spec.rb", "it 'adds' do", "it 'adds', skip: true do"),
        ("ATest.java", "@Test\nvoid a()", "@Disabled\n@Test\nvoid a()"),
        ("ATests.cs", "[Fact]", '[Fact(Skip = "flaky")]'),
        ("ATest.php", "function testA() {", "function testA() { $this->markTestSkipped();"),
        ("ATests.swift", "func testA() {", "func testA() throws { throw XCTSkip()"),
        ("a_test.exs", 'test "adds"', '@tag :skip\ntest "adds"'),
        ("a_test.dart", "test('adds', run)", "test('adds', run, skip: true)"),
        ("a_test.cc", "TEST(A, Adds)", "TEST(A, DISABLED_Adds)"),
        ("a.test.ts", "expect(f()).toBe(3)", "expect(f()).toBeDefined()"),
        ("jest.config.ts", "roots: []", "testPathIgnorePatterns: ['a'],\nroots: []"),
        (".github/workflows/ci.yml", "run: pytest", "run: pytest || true"),
        ("Makefile", "\tpytest\n", "\tpytest || true\n"),
        ("src/a.py", "return 1", "return 2 if os.environ.get('PYTEST_CURRENT_TEST') else 1"),
    ],
)
def test_an_edit_that_takes_tests_away(account: Account, path: str, old: str, new: str) -> None:
    """The user is asked; the other way round it is allowed."""
    assert (edit(account, path, old, new), edit(account, path, new, old)) == ("ask", "continue")


@rows(
    "path, old, new",
    [
        ("src/iter.rs", "it.next()", "it.skip(1)"),
        ("src/a.ts", "it(x)", "it.skip(x)"),
        ("test_a.py", "import a", "@pytest.mark.skipif(sys.platform == 'win32', reason='paths')"),
        ("test_a.py", "a = 1", "a = 1\nassert a is not None"),
        ("a.test.ts", "expect(a).toBe(1)", "expect(a).toBe(2)\nexpect(b).toBeDefined()"),
        ("package.json", '"test": "jest"', '"test": "jest --ci"'),
        ("pyproject.toml", "fail_under = 80", "fail_under = 90"),
        (".github/workflows/ci.yml", "run: docker rm a", "run: docker rm a || true"),
        ("README.md", "x", "test.skip('a')"),
        ("tests/data/a.json", '{"skip": false}', '{"skip": true}'),
    ],
)
def test_an_edit_that_takes_none_away(account: Account, path: str, old: str, new: str) -> None:
    """The user is not asked."""
    assert edit(account, path, old, new) == "continue"


LINES = [
    ("rm tests/test_shop.py", "ask"),
    ("cd tests && rm test_shop.py", "ask"),
    ("git rm tests/test_shop.py", "ask"),
    ("git restore --source=HEAD~1 tests", "ask"),
    ("mv tests/test_shop.py tests/shop.py.off", "ask"),
    ("> tests/test_shop.py", "ask"),
    ("truncate -s0 tests/test_shop.py", "ask"),
    ("echo 'x = 1' > tests/test_shop.py", "ask"),
    ("cat > tests/test_shop.py <<'E'\nimport shop\nE", "ask"),
    ("sed -i 's/== 42/is not None/' tests/test_shop.py", "continue"),
    ("sed -i 's/assert total() == 42/assert True/' tests/test_shop.py", "ask"),
    ("perl -pi -e 's|def test_|def no_test_|' tests/test_shop.py", "ask"),
    ("echo 'collect_ignore = [\"a\"]' | tee -a conftest.py", "ask"),
    ("yarn pkg set scripts.test=true", "ask"),
    ("rm -f tests/test_new.py", "continue"),
    ("git rm --cached tests/test_shop.py", "continue"),
    ("git checkout -- tests/test_shop.py", "continue"),
    ("git restore tests", "continue"),
    ("mv tests/test_shop.py tests/test_store.py", "continue"),
    ("mv tests/test_shop.py unit/tests/", "continue"),
    ("sed -i 's/total/sum/' tests/test_shop.py", "continue"),
    ("sed -n 's/def test_/x/p' tests/test_shop.py", "continue"),
    ("cat > tests/test_shop.py <<'E'\ndef test_total():\n    assert total() == 43\nE", "continue"),
    ("cat > tests/test_other.py <<'E'\nimport shop\nE", "continue"),
    ("echo '.pytest_cache' >> .gitignore", "continue"),
    ("npm pkg set scripts.test='vitest run'", "continue"),
    ("rm -rf build dist", "continue"),
]


@rows("line, action", LINES)
def test_a_line_that_takes_tests_away(shop: Account, line: str, action: str) -> None:
    """By what the repository has: a test file that git does not know is the session's own."""
    shop.write("tests/test_new.py", TEST)
    assert shop.wrong(GUARD, [line], action) == []


def begin(account: Account) -> None:
    """Begin a turn."""
    assert account.call(f"{GUARD}:begin", event="user_prompt_submit") is None


def end(account: Account, says: str = "", **context: object) -> dict[str, Any]:
    """End the turn; return what the recipe answers."""
    return account.call(f"{GUARD}:at_stop", event="stop", assistant_response=says, **context) or {}


def ran(account: Account, line: str) -> None:
    """Have run a line of shell."""
    call = {"event": "post_tool_use", "tool_name": "bash", "tool_args": {"command": line}}
    assert account.call(f"{GUARD}:note", **call) is None


def test_a_turn_that_changes_only_what_tests_assert(shop: Account) -> None:
    """The user is notified; `block` has the model explain itself once, and a commit hides nothing."""
    begin(shop)
    shop.write("tests/test_shop.py", TEST.replace("42", "41"))
    assert end(shop)["system_message"] == (
        "protect-tests: this turn changed 1 assertions of tests and no code: review tests/test_shop.py"
    )
    shop.options(changes="block")
    git(shop, "commit", "-qam", "Change")
    assert end(shop)["action"] == "block"
    assert end(shop, stop_hook_active=True) == {}
    shop.options(changes="no")
    assert end(shop) == {}


def test_other_turns_say_nothing(shop: Account) -> None:
    """Code and tests, a new test, more assertions, another form, and a change from before the turn."""
    begin(shop)
    assert end(shop) == {}
    shop.write("tests/test_new.py", TEST)
    shop.write("tests/test_shop.py", TEST.replace("() == 42", "(\n    ) == 42") + "    assert True\n")
    assert end(shop) == {}
    shop.write("tests/test_shop.py", TEST.replace("42", "41"))
    assert end(shop) != {}
    shop.write("shop.py", "def total():\n    return 41\n")
    assert end(shop) == {}
    git(shop, "checkout", "-q", "--", "shop.py", "tests")
    assert end(shop) == {}


CLAIMED = [
    "Done. All tests pass now.",
    "I fixed the total.\n\n- 12 tests passed\n- no lint errors",
    "The test suite is green.",
]
UNCLAIMED = [
    "",
    "The tests should pass now.",
    "Run the tests to see that all tests pass.",
    "I have not run the tests; once all tests pass, merge it.",
    "The function passes its argument on.",
]


def test_a_claim_without_a_run(shop: Account) -> None:
    """The model has to run them, or say so; once."""
    begin(shop)
    assert [each for each in CLAIMED if end(shop, each) != {}] == []
    shop.write("shop.py", "def total():\n    return 43\n")
    assert [each for each in CLAIMED if end(shop, each).get("action") != "block"] == []
    assert [each for each in UNCLAIMED if end(shop, each) != {}] == []
    assert '"All tests pass now."' in end(shop, CLAIMED[0])["message"]
    assert end(shop, CLAIMED[0], stop_hook_active=True) == {}
    shop.options(claims="tell")
    assert "system_message" in end(shop, CLAIMED[0])


@pytest.mark.parametrize(
    "line", ["python -m pytest -q", "make test", "npm run test:unit", "cargo nextest run", "go test ./..."]
)
def test_a_run_counts_in_its_turn(shop: Account, line: str) -> None:
    """Not in the next one."""
    begin(shop)
    shop.write("shop.py", "def total():\n    return 43\n")
    ran(shop, "git status")
    assert end(shop, CLAIMED[0]) != {}
    ran(shop, line)
    assert end(shop, CLAIMED[0]) == {}
    begin(shop)
    shop.write("shop.py", "def total():\n    return 44\n")
    assert end(shop, CLAIMED[0]) != {}


def test_without_a_repository_or_a_beginning(account: Account) -> None:
    """Nothing is known, so nothing is said."""
    assert end(account, CLAIMED[0]) == {}
    begin(account)
    account.write("a.py")
    assert end(account, CLAIMED[0]) == {}
