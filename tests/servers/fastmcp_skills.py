"""A FastMCP 4 server on stdio that serves two skills out of a folder; argv: the folder, made when it is not there."""

from __future__ import annotations

import sys
from pathlib import Path

from fastmcp import FastMCP
from fastmcp.skills.provider import SkillsDirectoryProvider

FILES = {
    "git-workflow/SKILL.md": "---\nname: git-workflow\ndescription: How we branch.\n---\n# Branches\nSee more.md.\n",
    "git-workflow/more.md": "Rebase, never merge.\n",
    "refunds/SKILL.md": "---\nname: refunds\ndescription: How we refund \u202e\u200b.\n---\nAsk first.\n",
}

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    server = FastMCP("skilled", version="1", providers=[SkillsDirectoryProvider(folder)])
    server.run(show_banner=False)
