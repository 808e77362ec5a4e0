"""A small GCE for tests. It takes only what Google's description of the API allows, and makes the faults that a test asks for.
server.py DESCRIPTION: prints the ports of the API and of a pretended sshd, and ends with its standard input."""
import copy
import json
import os
import re
import signal
import socket
import socketserver
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

sys.path.insert(0, os.path.dirname(__file__))
from cloud import ZONES, Project
from description import Description, Refused, invalid

TOKEN = "Bearer test-token"
WAIT = 2.0  # the API holds a wait for two minutes
description = Description(sys.argv[1])
projects, projects_lock = {}, threading.Lock()


class Hung(Exception):
    """The connection ends without a reply."""


def project_of(name):
    with projects_lock:
        if name not in projects:
            raise Refused(404, "notFound", f"the project {name} was not found")
        return projects[name]


def matches(filter_text, resource):
    """What the description shows: one regular expression; or the part of AIP-160: comparisons, in parentheses if there are several."""
    expression = re.fullmatch(r'(\w+) eq "([^"]*)"', filter_text)
    if expression:
        return re.fullmatch(expression[2], resource.get(expression[1], "")) is not None
    parts = re.findall(r"\(([^()]*)\)", filter_text) or [filter_text]
    if "".join(f"({part})" for part in parts) != re.sub(r"\)\s*(AND\s*)?\(", ")(", filter_text) and parts != [filter_text]:
        raise invalid("the filter is not valid")
    for part in parts:
        match = re.fullmatch(r'\s*([A-Za-z][\w.-]*)\s*(!=|<=|>=|=|<|>|:)\s*("[^"]*"|[^\s"()]+)\s*', part)
        if not match:
            raise invalid(f"the filter is not valid: {part}")
        field, operator, wanted = match.groups()
        value = resource
        for key in [field.split(".")[0], *([field.split(".", 1)[1]] if "." in field else [])]:
            value = value.get(key) if isinstance(value, dict) else None
        wanted = wanted.strip('"')
        if operator == ":" and wanted == "*":
            fits = value is not None
        elif operator in ("=", "!="):
            fits = (value == wanted) == (operator == "=")
        else:
            raise invalid(f"the server does not know the operator {operator}")
        if not fits:
            return False
    return True


def aggregated(project, kind, query):
    found = {"instances": project.instances, "disks": project.disks, "operations": project.operations}[kind]
    text = query.get("filter", [""])[0]
    is_loose = project.settings.get("loose") and kind != "operations"
    rows = []
    for key, resource in sorted(found.items()):
        if not text or matches(text, resource) or is_loose:
            rows.append((key[0] if kind == "operations" else f"zones/{key[0]}", resource))
    begin = int(query.get("pageToken", ["0"])[0])
    size = min(int(query.get("maxResults", ["500"])[0]), project.settings.get("page", 500))
    items = {f"zones/{zone}": {"warning": {"code": "NO_RESULTS_ON_PAGE", "message": "none"}} for zone in ZONES}
    for scope, resource in rows[begin:begin + size]:
        items[scope] = {kind: items.get(scope, {}).get(kind, []) + [resource]}
    page = {"kind": "compute#list", "items": items}
    if begin + size < len(rows):
        page["nextPageToken"] = str(begin + size)
    return page


def wait(project, scope, name):
    limit = time.monotonic() + WAIT
    while True:
        project.advance()
        operation = project.operations.get((scope, name))
        if operation is None:
            raise Refused(404, "notFound", f"the operation {name} was not found")
        if operation["status"] == "DONE" or time.monotonic() > limit:
            return operation
        project.changed.wait(0.005)


def perform(project, method, parameters, query, body):
    """Carries out a call."""
    name = method["id"].removeprefix("compute.")
    made = {"instances.bulkInsert": project.bulk_insert, "regionInstances.bulkInsert": project.bulk_insert,
            "instances.delete": project.delete_instance, "disks.delete": project.delete_disk}
    with project.lock:
        project.advance()
        if name in made:
            request_id = query.get("requestId", [None])[0]
            asked = (method["id"], parameters, body)
            if request_id in project.requests:
                before, operation = project.requests[request_id]
                if before != asked:
                    raise invalid("this requestId was used for another request")
                return operation
            operation = made[name](parameters, body)
            if request_id:
                project.requests[request_id] = (asked, operation)
            return operation
        if name == "instances.setDiskAutoDelete":
            return project.set_auto_delete(parameters, body, query)
        if name in ("zoneOperations.wait", "regionOperations.wait"):
            scope = f"zones/{parameters['zone']}" if "zone" in parameters else f"regions/{parameters['region']}"
            return wait(project, scope, parameters["operation"])
        if name == "instances.getGuestAttributes":
            return project.guest_attributes(parameters, query)
        lists = {"instances.aggregatedList": "instances", "disks.aggregatedList": "disks",
                 "globalOperations.aggregatedList": "operations"}
        if name in lists:
            return aggregated(project, lists[name], query)
    raise Refused(501, "notImplemented", f"the test server does not do {name}")


def is_dead(process):
    """Whether a process was killed; nobody may have waited for it yet."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return process is not None


RATE = Refused(403, "rateLimitExceeded", "too many calls")
STATUSES = {429: Refused(429, "rateLimitExceeded", "too many calls"), 403: RATE, 500: Refused(500, "backendError", "internal error"),
            503: Refused(503, "backendError", "try again")}


def with_faults(project, act):
    """Carries out a call, with the fault that is due at this one."""
    with project.lock:
        project.calls += 1
        fault = project.settings.get("fault", {})
        kind = fault.get("kind") if project.calls == fault.get("at") else None
        project.fired |= kind not in (None, "none")
        if kind == "operation":
            project.fail_next = True
    if kind == "kill_before":
        os.kill(project.victim, signal.SIGKILL)
        raise Hung
    if kind == "drop_before":
        raise Hung
    if kind == "status":
        raise STATUSES[fault["status"]]
    answer = act()
    if kind in ("forget", "drop_after"):
        with project.lock:
            if kind == "forget":
                project.requests.clear()
        raise Hung
    if kind == "status_after":
        raise STATUSES[503]
    if kind == "kill_after":
        os.kill(project.victim, signal.SIGKILL)
        raise Hung
    return answer


def control(verb, path, body):
    """What tests ask: a new project, the driver's process, the end."""
    _, _, name, *what = path.split("/")
    if verb == "PUT":
        project = Project(name, body)
        project.calls, project.log, project.invalid, project.victim, project.fired = 0, [], [], None, False
        with projects_lock:
            projects[name] = project
        return {}
    project = project_of(name)
    if what == ["victim"]:
        project.victim = body["pid"]
        return {}
    return {**project.verdict(), "calls": project.log, "invalid": project.invalid, "count": project.calls, "fired": project.fired}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        url = urlsplit(self.path)
        try:
            body = json.loads(raw) if raw else None
            if url.path.startswith("/test/"):
                return self.reply(200, control(self.command, url.path, body))
            if url.path.startswith("/computeMetadata/"):
                return self.metadata(url.path)
            return self.reply(200, self.api(url, body))
        except Refused as error:
            told = {"code": error.status, "message": error.message, "errors": [{"reason": error.reason, "message": error.message}]}
            return self.reply(error.status, {"error": told})
        except (Hung, ProcessLookupError):
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    def api(self, url, body):
        if self.headers.get("Authorization") != TOKEN:
            raise Refused(401, "authError", "the token is not valid")
        query = parse_qs(url.query, keep_blank_values=True, strict_parsing=bool(url.query))
        project = project_of(url.path.split("/")[4])
        with project.lock:
            project.log.append(f"{self.command} {url.path.split('/', 5)[5]}")
        try:
            method, parameters = description.find(self.command, url.path, query)
            description.check_body(method, body)
        except Refused as error:
            # a driver that is killed while its curl starts no longer holds the body for it
            if body is not None or not is_dead(project.victim):
                project.invalid.append(error.message)
            raise

        def act():
            try:
                with project.lock:
                    return copy.deepcopy(perform(project, method, parameters, query, body))
            except Refused as error:
                if error.status in (501,) or error.reason == "invalid":
                    project.invalid.append(error.message)
                raise

        return with_faults(project, act)

    def metadata(self, path):
        told = {"project/project-id": "from-metadata", "instance/zone": "projects/1/zones/europe-west1-b",
                "instance/service-accounts/default/token": json.dumps({"access_token": "test-token", "expires_in": 100})}
        text = told.get(path.removeprefix("/computeMetadata/v1/"))
        is_asked_well = text is not None and self.headers.get("Metadata-Flavor") == "Google"
        self.reply(200 if is_asked_well else 403, text if is_asked_well else "")

    def reply(self, status, content):
        data = (content if isinstance(content, str) else json.dumps(content)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = answer

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class Sshd(socketserver.ThreadingTCPServer):
    daemon_threads = allow_reuse_address = True
    request_queue_size = 256


class Greeting(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(b"SSH-2.0-pretended\r\n")


server, sshd = Server(("127.0.0.1", 0), Handler), Sshd(("127.0.0.1", 0), Greeting)
for one in (server, sshd):
    threading.Thread(target=one.serve_forever, daemon=True).start()
print(server.server_port, sshd.server_address[1], flush=True)
sys.stdin.read()
