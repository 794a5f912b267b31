"""Makes the user, the project and the file with its DSN, unless they exist. Runs in `bugsink-manage shell`."""

import os
import secrets
from pathlib import Path

from django.contrib.auth import get_user_model

from projects.models import Project, ProjectMembership, ProjectRole
from teams.models import Team, TeamMembership, TeamRole

USER = "admin@localhost"
PASSWORD = Path("/data/password")
DSN = Path("/var/tmp/dsn")

users = get_user_model().objects
user = users.order_by("id").first()
if user is None:
    password = secrets.token_urlsafe(12)
    PASSWORD.write_text(password)
    user = users.create_superuser(username=USER, email=USER, password=password)

project = Project.objects.filter(is_deleted=False).order_by("id").first()
if project is None:
    team = Team.objects.first() or Team.objects.create(name="Culvert")
    TeamMembership.objects.get_or_create(
        team=team, user=user, defaults={"role": TeamRole.ADMIN, "accepted": True}
    )
    project = Project.objects.create(name="Site", team=team)
    ProjectMembership.objects.create(project=project, user=user, role=ProjectRole.ADMIN, accepted=True)

# Written in one step, and readable for the other containers.
draft = DSN.with_suffix(".new")
draft.write_text(f"http://{project.sentry_key.hex}@bugsink:8000/{project.id}\n")
draft.chmod(0o644)
draft.rename(DSN)

password = PASSWORD.read_text() if PASSWORD.exists() else "as set before"
print(f"Bugsink: {os.environ['BASE_URL']}, user {user.username}, password {password}")
