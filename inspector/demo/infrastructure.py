"""The demo category `infrastructure`: services, deployments, incidents; handlers run on the event loop."""

from __future__ import annotations

import logging
from typing import Any

from inspector.demo.company import Company, Row, ToolFailed
from inspector.demo.schema import array, choice, flag, integer, number, params, record, text
from inspector.demo.tool import ADDS, DESTROYS, READS, Arguments, Category, Tool


def list_services(company: Company, args: Arguments) -> dict[str, Any]:
    found = company.rows("services", tier=args.get("tier"))
    fields = ("service", "tier", "version", "state")
    return {"services": [{field: row[field] for field in fields} for row in found]}


def get_service_status(company: Company, args: Arguments) -> dict[str, Any]:
    row = _service(company, args)
    incidents = company.rows("incidents", service=row["service"], state="open")
    return {
        "service": row["service"],
        "state": row["state"],
        "version": row["version"],
        "openIncidents": [incident["incidentId"] for incident in incidents],
    }


def _service(company: Company, args: Arguments) -> Row:
    return company.row("services", "service", args["service"], "service")


def query_metrics(company: Company, args: Arguments) -> dict[str, Any]:
    """One value an hour, made from the service's usual latency by arithmetic: the same for ever."""
    base = _service(company, args)["baseLatencyMs"]
    scale = {"latency_ms": 1.0, "requests_per_s": 2.5, "error_rate": 0.0001}[args["metric"]]
    points = [round(base * scale * (1 + ((hour * 7) % 24) / 48), 4) for hour in range(args["lastHours"])]
    return {"metric": args["metric"], "points": points, "mean": round(sum(points) / len(points), 4)}


def search_logs(company: Company, args: Arguments) -> dict[str, Any]:
    found = company.rows("logs", service=args["service"], level=args.get("level"))
    lines = [row for row in found if args.get("contains", "") in row["line"]]
    return {"lines": [f"{row['at']} {row['level']} {row['line']}" for row in lines[: args["limit"]]]}


def list_deployments(company: Company, args: Arguments) -> dict[str, Any]:
    newest_first = company.rows("deployments", service=args.get("service"))[::-1]
    return {"deployments": newest_first[: args["limit"]]}


def deploy_service(company: Company, args: Arguments) -> dict[str, Any]:
    service = _service(company, args)
    if args["version"] == service["version"]:
        raise ToolFailed(f"{service['service']} already runs {service['version']}.")
    if args["dryRun"]:
        return {"deploymentId": None, "from": service["version"], "to": args["version"], "dryRun": True}
    old = service["version"]
    deployment = _go_live(company, service, args["version"])
    return {"deploymentId": deployment["deploymentId"], "from": old, "to": args["version"], "dryRun": False}


def _go_live(company: Company, service: Row, version: str) -> Row:
    for row in company.rows("deployments", service=service["service"], state="live"):
        row["state"] = "replaced"
    service["version"] = version
    deployment: Row = {
        "deploymentId": company.next_id("deployments", "deploymentId", "DEP-", 1),
        "service": service["service"],
        "version": version,
        "at": f"{company.today}T12:00:00Z",
        "state": "live",
    }
    return company.add("deployments", deployment)


def rollback_deployment(company: Company, args: Arguments) -> dict[str, Any]:
    deployment = company.row("deployments", "deploymentId", args["deploymentId"], "deployment")
    if deployment["state"] != "live":
        raise ToolFailed(f"{deployment['deploymentId']} is not live, so there is nothing to roll back.")
    earlier = company.rows("deployments", service=deployment["service"], state="replaced")
    if not earlier:
        raise ToolFailed(f"{deployment['service']} has no earlier deployment to go back to.")
    service = _service(company, deployment)
    _go_live(company, service, earlier[-1]["version"])
    return {"service": service["service"], "version": service["version"]}


def list_incidents(company: Company, args: Arguments) -> dict[str, Any]:
    return {"incidents": company.rows("incidents", state=args.get("state"))}


def open_incident(company: Company, args: Arguments) -> dict[str, Any]:
    _service(company, args)
    incident: Row = {
        "incidentId": company.next_id("incidents", "incidentId", "INC-", 1),
        "service": args["service"],
        "severity": args["severity"],
        "state": "open",
        "summary": args["summary"],
        "opened": company.today,
    }
    return company.add("incidents", incident)


def run_health_check(company: Company, args: Arguments) -> dict[str, Any]:
    """Writes a line to stderr for each service it looks at, as real servers do while they work."""
    log = logging.getLogger("infrastructure.health")
    names = args.get("services") or [row["service"] for row in company.rows("services")]
    failing = []
    for name in names:
        row = _service(company, {"service": name})
        healthy = row["state"] == "healthy"
        level = logging.INFO if healthy else logging.WARNING
        log.log(level, "%s %s, version %s, %s ms", name, row["state"], row["version"], row["baseLatencyMs"])
        if not healthy:
            failing.append(name)
    return {"checked": len(names), "failing": failing}


SERVICE = choice("", "api", "payments", "search", "sync")

CATEGORY = Category(
    "infrastructure",
    "Services, metrics, logs, deployments and incidents.",
    (
        Tool(
            "list_services",
            "List the services we run, with version and state.",
            params(tier=integer("1 is the most critical.", minimum=1, maximum=3)),
            READS,
            list_services,
            {"tier": 1},
        ),
        Tool(
            "get_service_status",
            "Get the state of one service and its open incidents.",
            params("service", service=SERVICE),
            READS,
            get_service_status,
            {"service": "sync"},
            record(service=text(), state=text(), version=text(), openIncidents=array(text())),
        ),
        Tool(
            "query_metrics",
            "Read one metric of a service, a value an hour, oldest first.",
            params(
                "service",
                "metric",
                service=SERVICE,
                metric=choice("", "latency_ms", "requests_per_s", "error_rate"),
                lastHours=integer("How far back.", default=24, minimum=1, maximum=168),
            ),
            READS,
            query_metrics,
            {"service": "api", "metric": "latency_ms", "lastHours": 6},
            record(metric=text(), points=array(number()), mean=number()),
        ),
        Tool(
            "search_logs",
            "Search the recent log lines of a service.",
            params(
                "service",
                service=SERVICE,
                contains=text("Exact text, case matters."),
                level=choice("", "info", "warning", "error"),
                limit=integer(default=50, minimum=1, maximum=500),
            ),
            READS,
            search_logs,
            {"service": "sync", "contains": "queue"},
        ),
        Tool(
            "list_deployments",
            "List deployments, newest first.",
            params(service=SERVICE, limit=integer(default=10, minimum=1, maximum=50)),
            READS,
            list_deployments,
            {"service": "sync"},
        ),
        Tool(
            "deploy_service",
            "Deploy a version of a service. Unless told otherwise, it only shows what would happen.",
            params(
                "service",
                "version",
                service=SERVICE,
                version=text("E.g. 8.0.2.", pattern=r"^\d+\.\d+\.\d+$"),
                dryRun=flag("False really deploys.", default=True),
            ),
            DESTROYS,
            deploy_service,
            {"service": "sync", "version": "8.0.2"},
        ),
        Tool(
            "rollback_deployment",
            "Put the version before a live deployment back into service.",
            params("deploymentId", deploymentId=text("E.g. DEP-90.")),
            DESTROYS,
            rollback_deployment,
            {"deploymentId": "DEP-90"},
            record(service=text(), version=text()),
        ),
        Tool(
            "list_incidents",
            "List incidents, oldest first.",
            params(state=choice("", "open", "resolved")),
            READS,
            list_incidents,
            {"state": "open"},
        ),
        Tool(
            "open_incident",
            "Open an incident for a service. Nobody is paged.",
            params(
                "service",
                "severity",
                "summary",
                service=SERVICE,
                severity=choice("", "minor", "major", "critical"),
                summary=text("One line.", maxLength=120),
            ),
            ADDS,
            open_incident,
            {"service": "search", "severity": "minor", "summary": "Results are late"},
        ),
        Tool(
            "run_health_check",
            "Check services one by one and name those that fail; details go to the server's log.",
            params(services=array(SERVICE, "Default: all of them.")),
            READS,
            run_health_check,
            {"services": ["api", "sync"]},
            record(checked=integer(), failing=array(text())),
        ),
    ),
)
