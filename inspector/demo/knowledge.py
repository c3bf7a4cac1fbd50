"""The demo category `knowledge`: the support articles; handlers run on the server's event loop."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from inspector.demo.company import Company, Row, ToolFailed
from inspector.demo.schema import array, choice, flag, integer, nullable, number, params, record, text
from inspector.demo.tool import ADDS, READS, REPLACES, Arguments, Category, Step, Steps, Tool


def _words(prose: str) -> Counter[str]:
    return Counter(word.rstrip("s") for word in re.findall(r"[a-z0-9]+", prose.lower()) if len(word) > 2)


def _live(company: Company) -> list[Row]:
    return company.rows("articles", archived=False)


def _ranked(company: Company, query: str, top: int) -> list[Row]:
    """The best articles: a word of the title counts four times a word of the body, each word once."""
    wanted = _words(query).keys()
    scored = [
        (4 * len(wanted & _words(row["title"]).keys()) + len(wanted & _words(row["body"]).keys()), row)
        for row in _live(company)
    ]
    best = sorted((pair for pair in scored if pair[0]), key=lambda pair: (-pair[0], pair[1]["articleId"]))
    return [{**row, "score": score / (5 * len(wanted))} for score, row in best[:top]]


def search_knowledge_base(company: Company, args: Arguments) -> dict[str, Any]:
    fields = ("articleId", "title", "body", "score")
    found = _ranked(company, args["query"], args["topK"])
    return {"results": [{field: row[field] for field in fields} for row in found]}


def get_article(company: Company, args: Arguments) -> dict[str, Any]:
    return company.row("articles", "articleId", args["articleId"], "article")


def list_articles(company: Company, args: Arguments) -> dict[str, Any]:
    rows = company.rows("articles", topic=args.get("topic"))
    if not args["includeArchived"]:
        rows = [row for row in rows if not row["archived"]]
    return {"articles": [{"articleId": row["articleId"], "title": row["title"]} for row in rows]}


def list_topics(company: Company, args: Arguments) -> dict[str, Any]:
    counted = Counter(row["topic"] for row in _live(company))
    return {"topics": [{"topic": topic, "articles": counted[topic]} for topic in sorted(counted)]}


def suggest_related(company: Company, args: Arguments) -> dict[str, Any]:
    article = get_article(company, args)
    near = _ranked(company, f"{article['title']} {article['body']}", args["topK"] + 1)
    others = [row for row in near if row["articleId"] != article["articleId"]][: args["topK"]]
    return {"related": [{"articleId": row["articleId"], "title": row["title"]} for row in others]}


def create_article(company: Company, args: Arguments) -> dict[str, Any]:
    article: Row = {
        "articleId": company.next_id("articles", "articleId", "KB-", 1),
        "topic": args["topic"],
        "title": args["title"],
        "body": args["body"],
        "archived": False,
        "helpful": 0,
        "unhelpful": 0,
    }
    company.add("articles", article)
    return {"articleId": article["articleId"]}


def update_article(company: Company, args: Arguments) -> dict[str, Any]:
    article = get_article(company, args)
    changed = [field for field in ("title", "body") if field in args]
    if not changed:
        raise ToolFailed("Nothing to change: give a new `title`, a new `body` or both.")
    article.update({field: args[field] for field in changed})
    return {"articleId": article["articleId"], "changed": changed}


def archive_article(company: Company, args: Arguments) -> dict[str, Any]:
    article = get_article(company, args)
    article["archived"] = True
    return {"articleId": article["articleId"], "archived": True}


def rate_article(company: Company, args: Arguments) -> dict[str, Any]:
    article = get_article(company, args)
    article["helpful" if args["helpful"] else "unhelpful"] += 1
    return {"helpful": article["helpful"], "unhelpful": article["unhelpful"], "comment": args.get("comment")}


def rebuild_search_index(company: Company, args: Arguments) -> Steps:
    """Counts the words of the articles in `steps` portions, and says after each how far it is."""
    articles, steps = _live(company), args["steps"]
    index: Counter[str] = Counter()
    for step in range(steps):
        portion = articles[step::steps]
        for row in portion:
            index += _words(f"{row['title']} {row['body']}")
        yield Step(step + 1, steps, f"{len(portion)} articles read, {len(index)} words so far")
    commonest = index.most_common(1)[0][0] if index else ""
    return {"articles": len(articles), "words": len(index), "commonest": commonest}


ARTICLE_ID = text("E.g. KB-1.")
TOP_K = integer("Results at most.", default=3, minimum=1, maximum=10)
TOPIC = choice("", "accounts", "billing", "devices", "refunds", "sync")

CATEGORY = Category(
    "knowledge",
    "Support articles: search, read, write.",
    (
        Tool(
            "search_knowledge_base",
            "Search support articles: policies, refund and return periods, how-tos. Best match first.",
            params("query", query=text("Words or a question.", minLength=1), topK=TOP_K),
            READS,
            search_knowledge_base,
            {"query": "software refund period", "topK": 2},
            record(results=array(params(articleId=text(), title=text(), body=text(), score=number()))),
        ),
        Tool(
            "get_article",
            "Get one support article in full.",
            params("articleId", articleId=ARTICLE_ID),
            READS,
            get_article,
            {"articleId": "KB-1"},
        ),
        Tool(
            "list_articles",
            "List the titles of articles, all or of one topic.",
            params(topic=TOPIC, includeArchived=flag(default=False)),
            READS,
            list_articles,
            {"topic": "refunds"},
        ),
        Tool(
            "list_topics",
            "List the topics, and how many articles each holds.",
            {"type": "object", "additionalProperties": False},
            READS,
            list_topics,
            {},
        ),
        Tool(
            "suggest_related",
            "Find articles close to a given one.",
            params("articleId", articleId=ARTICLE_ID, topK=TOP_K),
            READS,
            suggest_related,
            {"articleId": "KB-1", "topK": 2},
        ),
        Tool(
            "create_article",
            "Publish a new support article.",
            params(
                "topic",
                "title",
                "body",
                topic=TOPIC,
                title=text(minLength=3, maxLength=80),
                body=text("Plain text."),
            ),
            ADDS,
            create_article,
            {"topic": "sync", "title": "Sync over a mobile network", "body": "Switch it on under Settings."},
        ),
        Tool(
            "update_article",
            "Replace the title or the body of an article. The old text is not kept.",
            params("articleId", articleId=ARTICLE_ID, title=text("New title."), body=text("New body.")),
            REPLACES,
            update_article,
            {"articleId": "KB-6", "title": "Reset your Slate"},
        ),
        Tool(
            "archive_article",
            "Take an article out of search and lists.",
            params("articleId", articleId=ARTICLE_ID),
            REPLACES,
            archive_article,
            {"articleId": "KB-4"},
        ),
        Tool(
            "rate_article",
            "Count a reader's vote on an article.",
            params(
                "articleId",
                "helpful",
                articleId=ARTICLE_ID,
                helpful=flag("Did it help?"),
                comment=nullable(text("In the reader's words.")),
            ),
            ADDS,
            rate_article,
            {"articleId": "KB-5", "helpful": True, "comment": None},
        ),
        Tool(
            "rebuild_search_index",
            "Read all articles again and rebuild the word index. Reports progress after each step.",
            params(steps=integer("Portions to work in.", default=5, minimum=1, maximum=50)),
            {**ADDS, "idempotentHint": True},
            rebuild_search_index,
            {"steps": 3},
            record(articles=integer(), words=integer(), commonest=text()),
        ),
    ),
)
