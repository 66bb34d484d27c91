#!/usr/bin/env python3
"""Talks to a Sandrone server over its HTTP API.

Needs Python 3.8 and nothing else. SANDRONE_URL is the server, such as
http://127.0.0.1:1137; SANDRONE_TOKEN, where the server wants one, is sent as a
bearer token. Neither is ever an argument or part of the output.

Answers go to standard output as the server gives them, errors to standard
error as {"error": {"code", "message", ...}}. Exit status: 0 done, 1 refused by
the server, 2 used wrongly, 3 no server there.

FILE is a path, or - for standard input. Definitions and requests are JSON;
the schema commands tell their shape.
"""

import argparse
import json
import os
import stat
import sys
import urllib.error
import urllib.parse
import urllib.request

MAX_ANSWER = 256 << 20  # bytes
MAX_INPUT = 64 << 20
LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Failure(Exception):
    """Ends the program with a status and an error object."""

    def __init__(self, status, code, message):
        super().__init__(message)
        self.status = status
        self.answer = {"error": {"code": code, "message": message}}


def misuse(message):
    return Failure(2, "usage", message)


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token to another place."""

    def redirect_request(self, *_):
        return None


class Server:
    def __init__(self, environment, timeout):
        address = environment.get("SANDRONE_URL", "").strip().rstrip("/")
        if not address:
            raise misuse("SANDRONE_URL is not set; it is the address of the server, such as http://127.0.0.1:1137")
        try:
            parts = urllib.parse.urlsplit(address)
            host, _ = parts.hostname, parts.port
        except ValueError:
            host, parts = None, None
        if not host or parts.scheme not in ("http", "https") or parts.query or parts.fragment or parts.username is not None:
            raise misuse("SANDRONE_URL must be an http or https address without user, query and fragment")
        self.token = environment.get("SANDRONE_TOKEN", "").strip()
        if not all(33 <= ord(c) <= 126 for c in self.token):
            raise misuse("SANDRONE_TOKEN has a character that no token has")
        if self.token and parts.scheme == "http" and host not in LOOPBACK:
            print("warning: the token travels unencrypted; use https beyond this host", file=sys.stderr)
        self.address = address
        self.timeout = timeout
        handlers = [NoRedirect()]
        if host in LOOPBACK:
            handlers.append(urllib.request.ProxyHandler({}))
        self.opener = urllib.request.build_opener(*handlers)

    def open(self, method, path, query=(), body=None, headers=()):
        """Returns the answer of a request that succeeded."""
        url = self.address + path
        if query:
            url += "?" + urllib.parse.urlencode(query)
        request = urllib.request.Request(url, data=body, method=method)
        request.add_header("Accept", "application/json, */*")
        request.add_header("User-Agent", "sandrone-skill")
        if body is not None:
            request.add_header("Content-Type", "application/json")
        if self.token:
            request.add_unredirected_header("Authorization", "Bearer " + self.token)
        for name, value in headers:
            request.add_header(name, value)
        try:
            return self.opener.open(request, timeout=self.timeout)
        except urllib.error.HTTPError as e:
            raise refused(e)
        except urllib.error.URLError as e:
            raise Failure(3, "unreachable", "no answer from the server: %s" % plain(e.reason))

    def call(self, *args, **more):
        """Returns body and headers of a request that succeeded."""
        with self.open(*args, **more) as answer:
            return bounded(answer), answer.headers


def plain(reason):
    """The text of a network error, which never holds an address."""
    return getattr(reason, "strerror", None) or type(reason).__name__


def bounded(answer):
    body = answer.read(MAX_ANSWER + 1)
    if len(body) > MAX_ANSWER:
        raise Failure(1, "answer_too_large", "the answer is larger than %d bytes" % MAX_ANSWER)
    return body


def refused(e):
    """The server's own error object, or one for an answer that has none."""
    failure = Failure(1, "http_%d" % e.code, "the server answered with status %d" % e.code)
    try:
        answer = json.loads(e.read(1 << 20))
        if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
            failure.answer = answer
    except (ValueError, OSError):
        pass
    return failure


def segment(name):
    """A name as one segment of a path."""
    return urllib.parse.quote(name, safe="")


def read(path):
    try:
        if path == "-":
            data = sys.stdin.buffer.read(MAX_INPUT + 1)
        else:
            with open(path, "rb") as f:
                data = f.read(MAX_INPUT + 1)
    except OSError as e:
        raise misuse("cannot read %s: %s" % (path, e.strerror))
    if len(data) > MAX_INPUT:
        raise misuse("%s is larger than %d bytes" % (path, MAX_INPUT))
    return data


def read_text(path):
    try:
        return read(path).decode("utf-8")
    except UnicodeDecodeError:
        raise misuse("%s is not UTF-8 text" % path)


def read_object(path):
    """The JSON object in a file, as it is written."""
    data = read(path).strip()
    try:
        value = json.loads(data)
    except ValueError as e:
        raise misuse("%s is no JSON: %s" % (path, e))
    if not isinstance(value, dict):
        raise misuse("%s holds no JSON object" % path)
    return data


def pairs(values):
    """KEY=VALUE arguments as an object."""
    found = {}
    for value in values or ():
        key, equals, text = value.partition("=")
        if not equals or not key:
            raise misuse("--arg must be KEY=VALUE")
        found[key] = text
    return found


def dump(value, **written):
    """A JSON object of values, and of members that are written already."""
    members = [json.dumps(k, ensure_ascii=False).encode() + b":" + text for k, text in written.items()]
    members += [json.dumps(k, ensure_ascii=False).encode() + b":" + json.dumps(v, ensure_ascii=False).encode() for k, v in value.items()]
    return b"{" + b",".join(members) + b"}"


def show(body):
    sys.stdout.buffer.write(body)
    if body and not body.endswith(b"\n"):
        sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()


def save(path, text):
    """Writes text that may hold credentials: only its owner may read it."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, stat.S_IRUSR | stat.S_IWUSR)
        with os.fdopen(fd, "wb") as f:
            if hasattr(os, "fchmod"):  # the file may have been there
                os.fchmod(f.fileno(), stat.S_IRUSR | stat.S_IWUSR)
            f.write(text)
    except OSError as e:
        raise misuse("cannot write %s: %s" % (path, e.strerror))


def show_document(body, output):
    """Shows an envelope of a document. With output the document goes there,
    and what is shown is the rest."""
    if output is None:
        show(body)
        return
    envelope = json.loads(body)
    text = envelope.pop("body", "").encode("utf-8")
    save(output, text)
    envelope["output"] = {"file": output, "bytes": len(text)}
    show(json.dumps(envelope, ensure_ascii=False, indent=2).encode("utf-8"))


def getter(path, *params, **query):
    """A command that shows what a path answers. Words in braces in the path and
    the values of query are names of arguments."""

    def run(server, a):
        where = path.format(**{p: segment(getattr(a, p)) for p in params})
        asked = [(k, getattr(a, v)) for k, v in query.items() if getattr(a, v) is not None]
        show(server.call("GET", where, query=asked)[0])

    return run


def get_catalogue(path):
    """An index, or one entry of it where the arguments name one."""

    def run(server, a):
        where = path + "".join("/" + segment(s) for s in a.entry)
        show(server.call("GET", where)[0])

    return run


def get_schema(server, a):
    show(server.call("GET", "/v1/schemas" + {None: "", "script-api": "/script-api/v1"}.get(a.name, "/" + str(a.name)))[0])


def get_definition(path, **query):
    def run(server, a):
        body, headers = server.call("GET", path + segment(a.name), query=list(query.items()))
        show(body)
        if headers.get("ETag"):
            print("etag: " + headers["ETag"], file=sys.stderr)

    return run


def conditions(a):
    found = []
    if a.if_match is not None:
        found.append(("If-Match", a.if_match))
    if getattr(a, "if_absent", False):
        found.append(("If-None-Match", "*"))
    return found


def put(path):
    def run(server, a):
        show(server.call("POST", path, body=read_object(a.file), headers=conditions(a))[0])

    return run


def delete(path):
    def run(server, a):
        show(server.call("DELETE", path + segment(a.name), headers=conditions(a))[0])

    return run


def post(path):
    """A command that sends a request as it is."""

    def run(server, a):
        show(server.call("POST", path, body=read_object(a.file))[0])

    return run


def options(a, *names):
    """The request members that were given."""
    body = {n: getattr(a, n) for n in names if getattr(a, n) not in (None, False)}
    if getattr(a, "arg", None):
        body["args"] = pairs(a.arg)
    return body


def of_subscription(action, *names):
    def run(server, a):
        body = options(a, *names)
        if getattr(a, "no_trace", False):
            body["trace"] = False
        answer = server.call("POST", "/v1/subscriptions/%s/%s" % (segment(a.name), action), body=dump(body))[0]
        show_document(answer, getattr(a, "output", None))

    return run


def probe(server, a):
    body = options(a, "method", "core", "url", "timeout_ms", "attempts", "concurrency", "refresh")
    failed = None
    with server.open("POST", "/v1/subscriptions/%s/probe" % segment(a.name), body=dump(body)) as lines:
        for line in lines:
            show(line)
            value = json.loads(line)
            failed = value if "error" in value else None
    if failed:
        failure = Failure(1, "", "")
        failure.answer = failed
        raise failure


def preview_draft(server, a):
    body = options(a, "target", "refresh")
    if a.no_trace:
        body["trace"] = False
    show(server.call("POST", "/v1/preview/subscription", body=dump(body, subscription=read_object(a.file)))[0])


def preview_file_draft(server, a):
    body = options(a, "mode", "refresh", "verify")
    show_document(server.call("POST", "/v1/preview/file", body=dump(body, file=read_object(a.file)))[0], a.output)


def file_text(mode):
    def run(server, a):
        query = [("mode", mode), ("response", "json")]
        if mode == "render":
            query += [("report", "1"), ("refresh", "true" if a.refresh else "false")]
            query += [("arg." + k, v) for k, v in pairs(a.arg).items()]
        show_document(server.call("GET", "/v1/files/" + segment(a.name), query=query)[0], a.output)

    return run


def verify_file(server, a):
    show(server.call("POST", "/v1/files/%s/verify" % segment(a.name), body=dump(options(a, "refresh")))[0])


def convert(server, a):
    given = [v for v in (a.request, a.content, a.url_file) if v is not None]
    if len(given) != 1:
        raise misuse("exactly one of --request, --content and --url-file is needed")
    if a.request is not None:
        if a.to is not None or a.source is not None:
            raise misuse("--to and --from are members of the request")
        request = read_object(a.request)
    else:
        if a.to is None:
            raise misuse("--to is needed")
        body = {"to_format": a.to}
        if a.content is not None:
            body.update(from_format=a.source or "auto", content=read_text(a.content))
        else:
            body["remote"] = {"url": read_text(a.url_file).strip()}
            if a.source is not None:
                body["from_format"] = a.source
        request = dump(body)
    show_document(server.call("POST", "/v1/convert", body=request)[0], a.output)


def restore(server, a):
    show(server.call("POST", "/v1/revisions/%s/restore" % segment(a.id), headers=conditions(a))[0])


def revisions(server, a):
    query = [("kind", a.kind)]
    query += [(k, getattr(a, k)) for k in ("name", "limit", "cursor") if getattr(a, k) is not None]
    if a.deleted:
        query.append(("deleted", "1"))
    show(server.call("GET", "/v1/revisions", query=query)[0])


def test_regex(server, a):
    body = {"pattern": read_text(a.pattern_file).rstrip("\r\n"), "texts": read_text(a.texts).splitlines()}
    if a.replacement is not None:
        body["replacement"] = a.replacement
    show(server.call("POST", "/v1/regex/test", body=dump(body))[0])


def commands():
    parser = argparse.ArgumentParser(prog="sandrone.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timeout", type=float, default=180, metavar="SECONDS", help="how long to wait for the server")
    group = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")

    def add(name, about, run, *arguments):
        sub = group.add_parser(name, help=about, description=about)
        sub.set_defaults(run=run)
        for flags, more in arguments:
            sub.add_argument(*flags, **more)

    def arg(*flags, **more):
        return flags, more

    name = arg("name", help="of the stored resource")
    file = arg("file", metavar="FILE")
    refresh = arg("--refresh", action="store_true", help="read no cache")
    args = arg("--arg", action="append", metavar="KEY=VALUE", help="argument for the steps, may be repeated")
    target = arg("--target", metavar="FORMAT", help="tell what each node would lose in this format")
    no_trace = arg("--no-trace", action="store_true", help="leave out what each step did")
    output = arg("--output", metavar="FILE", help="write the document there and show the rest; it may hold credentials")
    if_match = arg("--if-match", metavar="ETAG", help="only if this is still what is stored")
    if_absent = arg("--if-absent", action="store_true", help="only if nothing of that name is stored")
    entry = dict(nargs="*", metavar="ENTRY")

    add("health", "say whether the server answers", getter("/healthz"))
    add("version", "tell which program answers", getter("/version"))
    add("inspect", "tell what the server can do, and what this token may", getter("/v1/inspect"))
    add("formats", "list node formats, or detail one: parse|render FORMAT", get_catalogue("/v1/capabilities/formats"), arg("entry", **entry))
    add("processors", "list types of steps, or detail one: nodes|file TYPE", get_catalogue("/v1/schemas/processors"), arg("entry", **entry))
    add("file-kinds", "list kinds of files, or detail one: KIND", get_catalogue("/v1/schemas/file-kinds"), arg("entry", **entry))
    add("schema", "show the index of schemas, or one of them", get_schema,
        arg("name", nargs="?", choices=("subscription", "file-spec", "script-api")))
    add("openapi", "show the whole API as OpenAPI document", getter("/v1/openapi.json"))
    add("presets", "show presets, templates, regions and bases for a kind of file", getter("/v1/presets", kind="kind", locale="locale"),
        arg("kind"), arg("--locale", choices=("en-US", "zh-CN")))
    add("add-preset", "put a preset into a list of steps, storing nothing; FILE is a request", post("/v1/presets/add"), file)
    add("group-by-region", "write groups by region into settings of a file, storing nothing; FILE is a request", post("/v1/presets/regions"), file)
    add("rule-sets", "list known public rule sets for a kind of file", getter("/v1/rule-set-catalog", target="target"), arg("target"))

    add("list-subscriptions", "list the stored subscriptions", getter("/v1/subscriptions"))
    add("get-subscription", "show a definition; its etag goes to standard error", get_definition("/v1/subscriptions/"), name)
    add("put-subscription", "create or overwrite a subscription", put("/v1/subscriptions"), file, if_match, if_absent)
    add("delete-subscription", "delete a subscription", delete("/v1/subscriptions/"), name, if_match)
    add("preview-subscription", "show the nodes before and after the steps", of_subscription("preview", "target", "refresh"), name, args, target, refresh, no_trace)
    add("preview-draft", "preview a subscription without storing it", preview_draft, file, args, target, refresh, no_trace)
    add("render-subscription", "write the nodes in a format", of_subscription("render", "format", "refresh"), name, arg("format"), args, refresh, output)
    add("traffic", "tell how much of its plan a remote subscription has used", of_subscription("traffic", "refresh"), name, refresh)
    add("probe-subscription", "probe the nodes; a line of JSON for each", probe, name, args, refresh,
        arg("--method", choices=("tcp_connect", "url_test", "udp_ntp")), arg("--core"), arg("--url"),
        arg("--timeout-ms", type=int), arg("--attempts", type=int), arg("--concurrency", type=int))

    add("list-files", "list the stored files", getter("/v1/files"))
    add("get-file", "show a definition; its etag goes to standard error", get_definition("/v1/files/", mode="spec"), name)
    add("put-file", "create or overwrite a file", put("/v1/files"), file, if_match, if_absent)
    add("delete-file", "delete a file", delete("/v1/files/"), name, if_match)
    add("render-file", "make the final text of a file, with a report", file_text("render"), name, args, refresh, output)
    add("file-source", "show the text that a file starts from", file_text("source"), name, output)
    add("preview-file-draft", "make the text of a file without storing it", preview_file_draft, file, args, refresh, output,
        arg("--mode", choices=("render", "source")), arg("--verify", action="store_true", help="let the installed client check it"))
    add("verify-file", "let the installed client check a stored file", verify_file, name, refresh)

    add("convert", "convert nodes once, storing nothing", convert,
        arg("--to", metavar="FORMAT", help="render format, with an optional @version"), arg("--from", dest="source", metavar="FORMAT", help="parse format; found out if absent"),
        arg("--content", metavar="FILE", help="the nodes"), arg("--url-file", metavar="FILE", help="holds the address of the nodes, which may be a secret"),
        arg("--request", metavar="FILE", help="a whole request, as openapi describes it"), output)
    add("diagnose", "tell what becomes of an input, stage by stage; FILE is a request", post("/v1/diagnose"), file)
    add("test-regex", "try a pattern on lines of text", test_regex,
        arg("pattern_file", metavar="PATTERN_FILE"), arg("texts", metavar="TEXTS_FILE"), arg("--replacement"))

    add("list-shares", "list the shares; an id is a secret", getter("/v1/shares"))
    add("get-share", "show one share", getter("/v1/shares/{id}", "id"), arg("id"))
    add("list-revisions", "list former definitions, newest first", revisions, arg("kind", choices=("subscription", "file", "share")),
        arg("--name"), arg("--deleted", action="store_true", help="of what is gone"), arg("--limit", type=int), arg("--cursor"))
    add("get-revision", "show a former definition", getter("/v1/revisions/{id}", "id"), arg("id"))
    add("restore-revision", "write a former definition back", restore, arg("id"), if_match)
    return parser


def main(argv, environment):
    parser = commands()
    a = parser.parse_args(argv)
    if a.command is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        a.run(Server(environment, a.timeout), a)
        return 0
    except Failure as e:
        answer, status = e.answer, e.status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (OSError, ValueError) as e:
        answer, status = {"error": {"code": "unreachable", "message": "the answer of the server broke off: " + plain(e)}}, 3
    json.dump(answer, sys.stderr, ensure_ascii=False, indent=2)
    sys.stderr.write("\n")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
