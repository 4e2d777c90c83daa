"""The recipe `protect-cloud`: the current context, in the settings of tools, decides about a line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.recipes.account import Account

KUBE = "apiVersion: v1\nkind: Config\ncurrent-context: {}\nusers: []\n"
AZURE = (
    '\ufeff{"subscriptions": [{"id": "1", "name": "Acme Test", "state": "Enabled", "user": {"name": "me@acme.com", '
    '"type": "user"}, "isDefault": false}, {"id": "2", "name": "Acme Production", "state": "Enabled", "user": {"name": '
    '"me@acme.com", "type": "user"}, "isDefault": true}]}'
)
# Files in the home directory or the working directory, a line, and what is done.
CONTEXTS = [
    ({}, "kubectl delete namespace shop", "ask"),
    ({"~/.kube/config": KUBE.format("kind-dev")}, "kubectl delete namespace prod", "continue"),
    ({"~/.kube/config": KUBE.format('"minikube"')}, "helm uninstall shop", "continue"),
    ({"~/.kube/config": KUBE.format("arn:aws:eks:eu-west-1:1:cluster/prod")}, "kubectl delete namespace shop", "block"),
    ({"~/.kube/config": KUBE.format("gke_acme_eu_prod-1")}, "kubectl apply -f k8s/", "ask"),
    ({"~/.kube/config": KUBE.format("gke_acme_eu_prod-1")}, "kubectl get pods", "continue"),
    ({"~/.kube/config": KUBE.format("prod")}, "kubectl --context kind-a delete namespace shop", "continue"),
    ({"~/.kube/config": KUBE.format("kind-a")}, "kubectl --context prod delete namespace shop", "block"),
    ({"~/.kube/config": KUBE.format("kind-a")}, "kubectl --context eu delete namespace shop", "ask"),
    ({"~/.kube/config": KUBE.format("kind-a")}, "KUBECONFIG=other kubectl delete ns shop", "ask"),
    ({"~/.kube/config": KUBE.format("kind-a")}, "kubectl --kubeconfig other delete ns shop", "ask"),
    ({"~/.kube/config": KUBE.format("kind-a")}, "KUBECONFIG= kubectl delete ns shop", "continue"),
    ({"fly.toml": "app = 'shop-dev'\n"}, "fly volumes destroy vol_1 -y -c other.toml", "ask"),
    (
        {"~/.kube/config": KUBE.format("kind-a"), "other": KUBE.format("prod")},
        "KUBECONFIG=other:~/.kube/config kubectl delete ns shop",
        "block",
    ),
    (
        {"~/.kube/config": KUBE.format("kind-a"), "other": KUBE.format("prod")},
        "kubectl --kubeconfig other delete ns shop",
        "block",
    ),
    ({"~/.kube/config": "no context here\n"}, "kubectl delete namespace shop", "ask"),
    ({".terraform/environment": "production"}, "terraform destroy", "block"),
    ({".terraform/environment": "dev\n"}, "terraform destroy", "continue"),
    ({".terraform/environment": "dev\n"}, "terraform state rm aws_db_instance.main", "ask"),
    ({"infra/.terraform/environment": "production"}, "terraform -chdir=infra destroy", "block"),
    ({"infra/.terraform/environment": "production"}, "cd infra && terraform destroy", "block"),
    ({".terraform/environment": "dev"}, "TF_WORKSPACE=prod terraform destroy", "block"),
    ({}, "terraform destroy -var-file=/tmp/prod.tfvars", "block"),
    ({}, "terraform -chdir=/tmp/infra destroy", "ask"),
    ({"~/.config/gcloud/active_config": "prod"}, "gcloud sql instances delete db -q", "block"),
    (
        {
            "~/.config/gcloud/active_config": "work",
            "~/.config/gcloud/configurations/config_work": "[core]\naccount = me@acme.com\nproject = acme-prod\n",
        },
        "gcloud sql instances delete db -q",
        "block",
    ),
    ({"~/.config/gcloud/active_config": "prod"}, "gcloud --project acme-dev sql instances delete db -q", "continue"),
    ({"~/.azure/azureProfile.json": AZURE}, "az group delete -n shop --yes", "block"),
    ({"~/.azure/azureProfile.json": AZURE}, "az group delete -n shop --yes --subscription eu", "ask"),
    ({"~/.docker/config.json": '{"currentContext": "prod-eu"}'}, "docker rm -f web", "ask"),
    ({"~/.docker/config.json": '{"currentContext": "prod-eu"}'}, "docker volume rm data", "block"),
    ({"~/.docker/config.json": '{"currentContext": "desktop-linux"}'}, "docker volume rm data", "ask"),
    ({"~/.docker/config.json": '{"auths": {}}'}, "docker rm -f web", "continue"),
    ({".firebaserc": '{"projects": {"default": "acme-live"}}'}, "firebase firestore:delete -r users -f", "block"),
    ({".firebaserc": '{"projects": {"default": "acme-live"}}'}, "firebase deploy", "ask"),
    ({".firebaserc": '{"projects": {"default": "acme-dev"}}'}, "firebase deploy", "continue"),
    ({"fly.toml": "app = 'shop-prod'\n"}, "fly volumes destroy vol_1 -y", "block"),
    ({"fly.toml": "app = 'shop-prod'\n"}, "fly volumes destroy vol_1 -y -a shop-dev", "continue"),
    ({".env": "AWS_PROFILE=acme-prod\n"}, "aws rds delete-db-instance --db-instance-identifier shop", "block"),
    ({".env": "AWS_ENDPOINT_URL=http://localhost:4566\n"}, "aws s3 rb s3://prod-uploads --force", "continue"),
    ({}, "terraform -chdir=envs/dev/eu destroy", "continue"),
    ({}, "terraform -chdir=envs/prod/eu destroy", "block"),
    ({}, "rclone sync /tmp/empty remote:photos", "ask"),
    ({}, "rclone sync dev/ remote:photos", "ask"),
    ({}, "mc mirror --remove ./test/ minio/site", "ask"),
    ({}, "ssh prod docker volume rm data", "ask"),
    ({}, "ssh web1 docker volume rm test_data", "continue"),
]


@pytest.mark.parametrize(("files", "line", "expected"), CONTEXTS)
def test_the_current_context_decides(account: Account, files: dict[str, str], line: str, expected: str) -> None:
    """It is read from files, where the line names no other."""
    for name, text in files.items():
        path = account.home / name[2:] if name.startswith("~/") else account.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    answer = account.answer("protect_cloud", line) or {"action": "continue"}
    assert answer["action"] == expected, answer


def test_settings_that_are_no_regular_file_are_not_waited_for(account: Account) -> None:
    """A FIFO named as the settings has no context, and what the context would say is asked."""
    os.mkfifo(account.work / "fifo")
    answer = account.answer("protect_cloud", "KUBECONFIG=fifo kubectl delete namespace shop")
    assert answer is not None
    assert answer["action"] == "ask"
