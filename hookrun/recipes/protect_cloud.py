"""The recipe `protect-cloud`: asks before infrastructure is removed, and blocks that in production."""

from __future__ import annotations

from hookrun.recipes.catalogue import may_lose
from hookrun.recipes.recipe import Recipe
from hookrun.recipes.shell_recipe import SHELL_TOOLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

RECIPE = Recipe(
    "protect-cloud",
    "Ask before what clouds, clusters, containers and hosters keep is deleted, and before deploys and publishing; "
    "block the deletion in production.",
    options=may_lose.OPTIONS,
    catches="""
        - What deletes in the clouds' and hosters' own tools (`aws`, `gcloud`, `az`, `doctl`, `hcloud`, `fly`, `heroku`,
          `vercel`, `netlify`, `railway`, `render`, `supabase`, `wrangler`, `firebase` and others), in object stores
          and backups (`aws s3 rb`, `gsutil rm -r`, `rclone sync`, `restic forget`), and `curl -X DELETE` of other
          machines.
        - `destroy`, and what loses the state, in tools that make infrastructure (`terraform`, `pulumi`, `cdk`, `sam`,
          `serverless` and others); `apply` and `up` are asked about.
        - `kubectl delete` of all but pods, jobs and replica sets, `helm uninstall`; volumes of containers (`docker
          compose down -v`, `docker volume rm`), virtual machines, ZFS, LVM and Btrfs.
        - What `gh` and `glab` delete or publish; `gh pr merge --admin`.
        - Deploys and publishing (`npm publish`, `twine upload`, `docker push`, `vercel --prod`, `fly deploy` and
          others): it asks.
        - Tools of MCP servers whose names say that they delete or deploy (`delete_project`, `bucket_delete`,
          `deploy_to_vercel`), merge a pull request or move money; lines of shell in their arguments.
        - Where the target is production, by a name in the line, its variables, `.env`, or the tool's settings (current
          context of `kubectl`, `docker` and `gcloud`, workspace of `terraform`, subscription of `az`, project of
          `fly.toml` and `.firebaserc`): a deletion is blocked. `kubectl apply`, `helm upgrade`, `docker stop` and
          `ansible-playbook` are asked about only there.
        - Nothing where the target is a test or this machine (`--context kind-dev`, `--endpoint-url
          http://localhost:4566`, `test_pgdata`), nor dry runs.
    """,
    misses="""
        - Tools that the catalogue does not know (add them with the option `catalogues`), and libraries of clouds in
          programs (`boto3`).
        - What scripts, `make` and `npm run` do. SQL and commands given to databases: see `protect-data`.
        - Single objects (`aws s3 rm s3://b/key`), messages, tags, stopped machines, images and caches.
        - `kubectl apply` and `helm upgrade` where the cluster is unknown.
        - A production system whose names do not say so: set `production`.
        - Names of addresses and settings that only a program knows, and targets that it asks for.
    """,
)


def concerns(context: Mapping[str, object]) -> bool:
    """Return whether the call may remove what cannot be brought back. False is certain."""
    return may_lose.concerns(RECIPE, context)


@RECIPE.hook("pre_tool_use", matcher=SHELL_TOOLS, priority=20, timeout=10, on_failure="block", concerns=concerns)
def check(context: Mapping[str, object]) -> dict[str, object] | None:
    """Return the block of a call that removes something in production, or a question where the target is unknown."""
    from hookrun.recipes.catalogue.deciding import CatalogueGuard

    return CatalogueGuard(RECIPE, context).verdict()
