"""EC2 for tests: moto behind a strict door that also fails on demand.

Prints one JSON line: the port of the strict service, and the port that stands for the sshd of each machine. It ends with its stdin.
The strict service checks parameters (ec2_strict.py), gives one ClientToken one launch, shows what was made after a while only, and keeps
machines in `shutting-down` for a while. Below /_test/ it takes orders:
  POST /_test/plan       {"at": N, "kind": KIND, "pid": PID, "lag": SECONDS}: what goes wrong at the Nth call from now on
  GET  /_test/calls      the calls since the last plan
  GET  /_test/launches   the parameters of all launches
  GET  /_test/snapshot   all that exists, whoever's it is
  POST /_test/neighbours makes things that look like a claim's and aren't
"""

import base64
import io
import json
import logging
import os
import re
import signal
import socket
import sys
import threading
import time
import traceback
import urllib.parse
import xml.etree.ElementTree as ET

HERE = os.path.dirname(os.path.abspath(__file__))
# amis.json: Debian's names and publisher; a newer one of another publisher has such a name too
os.environ.update(AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test", AWS_DEFAULT_REGION="eu-west-1")
os.environ.update(MOTO_AMIS_PATH=os.path.join(HERE, "amis.json"))

import boto3
from moto.ec2.models import ec2_backends
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from ec2_strict import Refused, check, read

NS = "{http://ec2.amazonaws.com/doc/2016-11-15}"
# a test whose own sshd stands for the machines names its key
HOST_KEY = os.environ.get("DISKPROOF_TEST_HOST_KEY", "ssh-ed25519 AAAATESTKEY root@ip")
KEYS = "\n".join(
    ["boot", "-----BEGIN SSH HOST KEY KEYS-----", HOST_KEY, "-----END SSH HOST KEY KEYS-----", "login:"]
)


def fault(code, message, status):
    text = f"<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors><RequestID>t</RequestID></Response>"
    return f"{status} X", [("Content-Type", "text/xml")], text.encode()


class Door:
    def __init__(self, moto):
        self.moto = moto
        self.lock = threading.RLock()
        self.tokens = {}
        self.shown_from = {}
        self.gone_from = {}
        self.members = {}
        self.launches = []
        self.images = set()
        self.plan({})

    def plan(self, order):
        with self.lock:
            self.order, self.calls = order, []
            self.lag = float(order.get("lag", 0))

    # one request -------------------------------------------------------------------------------------------------------------------

    def __call__(self, environ, start_response):
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        path = environ["PATH_INFO"]
        if path.startswith("/_test/"):
            try:
                answer = json.dumps(self.command(path[len("/_test/") :], body)).encode()
            except Exception:
                # a test shows what it gets in place of JSON
                answer = traceback.format_exc().encode()
            start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(answer)))])
            return [answer]
        form = dict(urllib.parse.parse_qsl(body.decode(), keep_blank_values=True))
        with self.lock:
            self.calls.append(form.get("Action"))
            kind = self.due(form.get("Action"))
        reply = self.with_fault(kind, environ, form)
        if reply is None:
            # after the end of this socket there is nothing to answer
            environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
            reply = fault("Dropped", "nobody reads this", 500)
        status, headers, text = reply
        headers = [(k, v) for k, v in headers if k.lower() != "content-length"] + [("Content-Length", str(len(text)))]
        start_response(status, headers)
        return [text]

    def due(self, action):
        at, kind = self.order.get("at"), self.order.get("kind")
        number = len(self.calls)
        if at is None or number < at:
            return None
        if kind == "throttle":
            return kind if number < at + 2 else None
        return kind if number == at else None

    def with_fault(self, kind, environ, form):
        if kind in ("kill_before", "kill_during", "kill_late"):
            os.kill(self.order["pid"], signal.SIGKILL)
        if kind == "kill_before":
            return None
        if kind == "kill_late":
            # the request was on its way while destroy looks for the first time
            time.sleep(self.order["late"])
        if kind == "throttle":
            return fault("RequestLimitExceeded", "Request limit exceeded.", 503)
        if kind == "error":
            return fault("InternalError", "An internal error has occurred", 500)
        if kind == "refuse":
            return fault("InsufficientInstanceCapacity", "We currently do not have sufficient capacity.", 400)
        try:
            reply = self.perform(environ, form)
        except Refused as refused:
            reply = fault(refused.code, refused.message, refused.status)
        if kind == "kill_after":
            os.kill(self.order["pid"], signal.SIGKILL)
        if kind == "error_after":
            return fault("InternalError", "An internal error has occurred", 500)
        return None if kind in ("drop", "kill_after", "kill_during", "kill_late") else reply

    def perform(self, environ, form):
        operation = form.get("Action")
        value = read(operation, form)
        check(operation, value)
        self.refuse_hidden(value)
        with self.lock:
            before = getattr(self, "before_" + operation, None)
            reply = before and before(value, form)
            if reply is None:
                reply = self.ask_moto(environ, urllib.parse.urlencode(form).encode())
                after = getattr(self, "after_" + operation, None)
                reply = (after and after(value, form, reply)) or reply
            return reply

    def ask_moto(self, environ, body):
        answer = {}
        inner = dict(environ, **{"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))})
        for key in [key for key in inner if key.startswith("werkzeug.")]:
            del inner[key]
        parts = self.moto(inner, lambda status, headers, *_: answer.update(status=status, headers=headers))
        return answer["status"], list(answer["headers"]), b"".join(parts)

    # what EC2 does and moto doesn't ------------------------------------------------------------------------------------------------

    def refuse_hidden(self, value):
        """An id that was made a moment ago is unknown for a while."""
        groups = [value.get("GroupId")] + value.get("SecurityGroupIds", [])
        groups += [g for i in value.get("NetworkInterfaces", []) for g in i.get("Groups", [])]
        for group in groups:
            if group and self.is_hidden(group):
                raise Refused("InvalidGroup.NotFound", f"The security group '{group}' does not exist")
        for instance in value.get("InstanceIds", []) + [value.get("InstanceId")]:
            if instance and self.is_hidden(instance):
                raise Refused("InvalidInstanceID.NotFound", f"The instance ID '{instance}' does not exist")

    def is_hidden(self, resource):
        return time.monotonic() < self.shown_from.get(resource, 0)

    def before_RunInstances(self, value, form):
        known = self.tokens.get(value["ClientToken"])
        if known:
            if known[0] != form:
                raise Refused("IdempotentParameterMismatch", "The client token was used with other parameters")
            return known[1]
        if value["ImageId"] not in self.images:
            raise Refused("InvalidAMIID.NotFound", f"The image id '[{value['ImageId']}]' does not exist")
        self.told = dict(form)
        # EC2 takes the size of what a machine boots from out of the image; moto wants it told
        for index, mapping in enumerate(value.get("BlockDeviceMappings", []), 1):
            if mapping["DeviceName"] == "/dev/xvda" and "VolumeSize" not in mapping["Ebs"]:
                form[f"BlockDeviceMapping.{index}.Ebs.VolumeSize"] = "8"
            # a launch of moto loses iops, and then refuses types that need them; they were checked here
            if mapping["Ebs"].get("VolumeType") in ("io1", "io2"):
                form[f"BlockDeviceMapping.{index}.Ebs.VolumeType"] = "gp3"
        return None

    def after_RunInstances(self, value, form, reply):
        if reply[0].startswith("200"):
            self.tokens[value["ClientToken"]] = (self.told, reply)
            self.launches.append(dict(value, UserData=base64.b64decode(value["UserData"]).decode()))
            made = self.hide(reply[2], NS + "instanceId")
            for group in [g for i in value["NetworkInterfaces"] for g in i["Groups"]]:
                self.members.setdefault(group, set()).update(made)

    def after_CreateSecurityGroup(self, value, form, reply):
        if reply[0].startswith("200"):
            self.hide(reply[2], NS + "groupId")

    def hide(self, text, tag):
        made = [element.text for element in ET.fromstring(text).iter(tag)]
        self.shown_from.update((resource, time.monotonic() + self.lag) for resource in made)
        return made

    def after_TerminateInstances(self, value, form, reply):
        if reply[0].startswith("200"):
            for instance in value["InstanceIds"]:
                self.gone_from.setdefault(instance, time.monotonic() + self.lag)

    def before_DeleteSecurityGroup(self, value, form):
        reservations = list(backend().reservations.values())
        alive = {i.id for r in reservations for i in r.instances if i._state.name != "terminated"}
        for instance in self.members.get(value["GroupId"], ()):
            if instance in alive or time.monotonic() < self.gone_from.get(instance, 0):
                raise Refused("DependencyViolation", f"resource {value['GroupId']} has a dependent object")

    def before_GetConsoleOutput(self, value, form):
        output = base64.b64encode(KEYS.encode()).decode()
        text = f"<GetConsoleOutputResponse xmlns='{NS[1:-1]}'><requestId>t</requestId><instanceId>{value['InstanceId']}</instanceId><output>{output}</output></GetConsoleOutputResponse>"
        return "200 OK", [("Content-Type", "text/xml")], text.encode()

    def after_DescribeInstances(self, value, form, reply):
        def edit(item):
            instance = item.findtext(NS + "instanceId")
            address = item.find(NS + "ipAddress")
            if address is not None:
                address.text = "127.0.0.1"
            if time.monotonic() < self.gone_from.get(instance, 0):
                item.find(NS + "instanceState").find(NS + "name").text = "shutting-down"
            return not self.is_hidden(instance)

        return self.edited(reply, "instancesSet", edit, value)

    def after_DescribeImages(self, value, form, reply):
        # moto's images boot from magnetic disks of 15 GiB; those of today's publishers from gp3
        def edit(item):
            for kind in item.iter(NS + "volumeType"):
                kind.text = "gp3"
            return True

        return self.edited(reply, "imagesSet", edit, {})

    def after_DescribeVolumes(self, value, form, reply):
        def edit(item):
            return not any(self.is_hidden(i.text) for i in item.iter(NS + "instanceId"))

        return self.edited(reply, "volumeSet", edit, value)

    def after_DescribeSecurityGroups(self, value, form, reply):
        return self.edited(reply, "securityGroupInfo", lambda item: not self.is_hidden(item.findtext(NS + "groupId")), value)

    def edited(self, reply, list_name, edit, value):
        """The reply without items that are hidden, or that a filter by tag excludes."""
        if not reply[0].startswith("200"):
            return None
        root = ET.fromstring(reply[2])
        for items in root.iter(NS + list_name):
            for item in list(items):
                if not edit(item) or not matches(item, value.get("Filters", [])):
                    items.remove(item)
        ET.register_namespace("", NS[1:-1])
        return reply[0], reply[1], ET.tostring(root)

    # orders ------------------------------------------------------------------------------------------------------------------------

    def command(self, name, body):
        if name == "plan":
            self.plan(json.loads(body))
            return {}
        if name == "calls":
            return self.calls
        if name == "snapshot":
            return snapshot()
        if name == "neighbours":
            return neighbours(json.loads(body)["claim"])
        if name == "launches":
            return self.launches
        return {"error": "no such order"}


def matches(item, filters):
    tags = {t.findtext(NS + "key"): t.findtext(NS + "value") or "" for s in item.findall(NS + "tagSet") for t in s.findall(NS + "item")}
    for wanted in filters:
        name = wanted["Name"]
        if name.startswith("tag:") and not any(like(tags.get(name[4:]), v) for v in wanted["Values"]):
            return False
        if name == "tag-key" and not any(like(key, v) for key in tags for v in wanted["Values"]):
            return False
    return True


def like(text, pattern):
    if text is None:
        return False
    parts = [".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern]
    return re.fullmatch("".join(parts), text, re.S) is not None


# moto without the door -----------------------------------------------------------------------------------------------------------------

RAW = {}


def raw():
    if not hasattr(THREAD, "client"):
        THREAD.client = boto3.session.Session().client("ec2", endpoint_url=RAW["url"], region_name="eu-west-1")
    return THREAD.client


THREAD = threading.local()


def backend():
    """What moto remembers: its first account, and the region of the tests."""
    return ec2_backends["123456789012"]["eu-west-1"]


def snapshot():
    """All that exists, from moto's own memory, which costs a tenth of asking for it. It also forgets what is terminated, as EC2 does."""
    known = backend()
    found = {}

    def add(kind, key, *facts):
        found[key] = json.dumps([kind, sorted(known.tags.get(key, {}).items()), *facts], default=str)

    for reservation in list(known.reservations.values()):
        for instance in list(reservation.instances):
            if instance._state.name == "terminated" and time.monotonic() >= DOOR.gone_from.get(instance.id, 0):
                reservation.instances.remove(instance)
            elif instance._state.name != "terminated":
                add("instance", instance.id, instance._state.name)
        if not reservation.instances:
            del known.reservations[reservation.id]
    for volume in known.volumes.values():
        add("volume", volume.id, volume.status, volume.size)
    for groups in known.groups.values():
        for group in groups.values():
            add("group", group.id, [[r.ip_protocol, r.from_port, r.ip_range] for r in group.ingress_rules])
    for key in known.key_pairs.values():
        add("key", key.id)
    for address in known.addresses:
        add("address", address.allocation_id, address.public_ip)
    for interface in known.enis.values():
        add("interface", interface.id, interface.status)
    return found


def neighbours(claim):
    """Things with a claim's names and nearly its tags."""
    client = raw()
    image = sorted(DOOR.images)[0]
    odd = [("diskproof-claim", claim + "-2"), ("diskproof-claim", claim[:-1]), ("diskproof-claims", claim), ("Diskproof-Claim", claim)]
    odd += [("diskproof-claim", "f" * 32), ("other", claim)]
    made = []
    for index, (key, value) in enumerate(odd):
        tags = [{"Key": key, "Value": value}, {"Key": "Name", "Value": "diskproof-faults"}, {"Key": "diskproof-run", "Value": "faults"}]
        tags.append({"Key": "diskproof-machines", "Value": "a b"})
        specs = lambda kind: [{"ResourceType": kind, "Tags": tags}]
        group = client.create_security_group(GroupName=f"neighbour-{index}-{claim}", Description="x", TagSpecifications=specs("security-group"))["GroupId"]
        run = client.run_instances(ImageId=image, InstanceType="t3.micro", MinCount=1, MaxCount=1, SecurityGroupIds=[group], TagSpecifications=specs("instance"))
        volume = client.create_volume(AvailabilityZone="eu-west-1a", Size=1, TagSpecifications=specs("volume"))
        key_pair = client.create_key_pair(KeyName=f"neighbour-{index}-{claim}", TagSpecifications=specs("key-pair"))
        address = client.allocate_address(Domain="vpc", TagSpecifications=specs("elastic-ip"))
        made += [group, run["Instances"][0]["InstanceId"], volume["VolumeId"], key_pair["KeyPairId"], address["AllocationId"]]
    return made


def sshd():
    """Something that answers where each machine's sshd would be."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)

    def answer():
        while True:
            connection, _ = listener.accept()
            connection.close()

    threading.Thread(target=answer, daemon=True).start()
    return listener.getsockname()[1]


def serve(app):
    server = make_server("127.0.0.1", 0, app, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
MOTO = DomainDispatcherApplication(create_backend_app)
RAW["url"] = f"http://127.0.0.1:{serve(MOTO)}"
DOOR = Door(MOTO)
for image in raw().describe_images(Owners=["136693071363"])["Images"]:
    DOOR.images.add(image["ImageId"])
print(json.dumps({"port": serve(DOOR), "sshd": sshd()}), flush=True)
sys.stdin.read()
