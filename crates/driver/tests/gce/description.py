"""Google's own description of the API: tells which method a request is, and what of it the API would refuse."""
import json
import re
import uuid


class Refused(Exception):
    def __init__(self, status, reason, message):
        super().__init__(message)
        self.status, self.reason, self.message = status, reason, message


def invalid(message):
    return Refused(400, "invalid", message)


NUMBERS = {"int32": (-2**31, 2**31 - 1), "uint32": (0, 2**32 - 1)}
LONG_NUMBERS = {"int64": (-2**63, 2**63 - 1), "uint64": (0, 2**64 - 1)}


class Description:
    def __init__(self, path):
        with open(path) as file:
            document = json.load(file)
        self.schemas, self.common = document["schemas"], document["parameters"]
        self.base = "/" + document["servicePath"]
        self.methods = []
        for resource in document["resources"].values():
            for method in resource.get("methods", {}).values():
                pattern = re.sub(r"\{\+?(\w+)\}", r"(?P<\1>[^/]+)", method["flatPath"])
                self.methods.append((method["httpMethod"], re.compile(pattern), method))

    def find(self, verb, path, query):
        """The method of a request and its parameters, of the path and of the query."""
        if not path.startswith(self.base):
            raise Refused(404, "notFound", f"no such path: {path}")
        for known, pattern, method in self.methods:
            match = pattern.fullmatch(path[len(self.base):])
            if match and known == verb:
                self.check_parameters(method, match.groupdict(), query)
                return method, match.groupdict()
        raise Refused(404, "notFound", f"no method {verb} {path}")

    def check_parameters(self, method, of_path, query):
        known = method["parameters"]
        for name, value in of_path.items():
            pattern = known[name].get("pattern")
            if pattern and not re.fullmatch(pattern, value):
                raise invalid(f"parameter {name} of the path: {value}")
        for name, values in query.items():
            rule = known.get(name) or self.common.get(name)
            if rule is None or rule["location"] != "query":
                raise invalid(f"unknown parameter {name}")
            if len(values) != 1 and not rule.get("repeated"):
                raise invalid(f"parameter {name} is given twice")
            for value in values:
                check_text_of(rule, name, value)
        for name, rule in known.items():
            if rule.get("required") and name not in of_path and name not in query:
                raise invalid(f"parameter {name} is missing")
        if "requestId" in query:
            try:
                good = uuid.UUID(query["requestId"][0]).int != 0 and len(query["requestId"][0]) == 36
            except ValueError:
                good = False
            if not good:
                raise invalid("requestId is not a UUID")

    def check_body(self, method, body):
        if "request" not in method:
            if body is not None:
                raise invalid("this method takes no body")
            return
        if body is None:
            raise invalid("the body is missing")
        self.check({"$ref": method["request"]["$ref"]}, body, "body")

    def check(self, rule, value, where):
        """Whether a value is what a schema allows; fields that only the API writes are not."""
        if "$ref" in rule:
            rule = self.schemas[rule["$ref"]]
        kind = rule.get("type", "object")
        if kind == "object":
            self.check_object(rule, value, where)
        elif kind == "array":
            if not isinstance(value, list):
                raise invalid(f"{where} must be a list")
            for index, item in enumerate(value):
                self.check(rule["items"], item, f"{where}[{index}]")
        elif kind == "boolean":
            if not isinstance(value, bool):
                raise invalid(f"{where} must be a boolean")
        elif kind == "integer":
            least, most = NUMBERS.get(rule.get("format"), (-2**31, 2**32 - 1))
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise invalid(f"{where} must be an integer")
        elif kind == "number":
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise invalid(f"{where} must be a number")
        elif kind == "string":
            if not isinstance(value, str):
                raise invalid(f"{where} must be a string")
            check_text_of(rule, where, value)
        elif kind != "any":
            raise invalid(f"{where}: the server does not know the type {kind}")

    def check_object(self, rule, value, where):
        if not isinstance(value, dict):
            raise invalid(f"{where} must be an object")
        fields, others = rule.get("properties", {}), rule.get("additionalProperties")
        for key, inner in value.items():
            if key in fields:
                told = fields[key].get("description", "").lower()
                if fields[key].get("readOnly") or told.startswith(("[output only]", "output only")):
                    raise invalid(f"{where}.{key} is written by the API only")
                self.check(fields[key], inner, f"{where}.{key}")
            elif others is not None:
                self.check(others, inner, f"{where}.{key}")
            else:
                raise invalid(f"unknown field {where}.{key}")


def check_text_of(rule, where, value):
    """A value as a text: of a query, or of a JSON string."""
    if "enum" in rule and value not in rule["enum"]:
        raise invalid(f"{where}: {value} is not one of {', '.join(rule['enum'])}")
    if "pattern" in rule and not re.fullmatch(rule["pattern"], value):
        raise invalid(f"{where}: {value} is not {rule['pattern']}")
    if rule.get("type") == "boolean" and value not in ("true", "false"):
        raise invalid(f"{where} must be true or false")
    limits = LONG_NUMBERS.get(rule.get("format")) or (NUMBERS.get(rule.get("format")) if rule.get("type") == "integer" else None)
    if limits and not (re.fullmatch("-?[0-9]+", value) and limits[0] <= int(value) <= limits[1]):
        raise invalid(f"{where}: {value} is no {rule['format']}")
