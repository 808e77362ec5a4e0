"""One project of a small GCE: instances, disks and operations that take time. What it does is what the API's description says; where
that leaves a choice, the seed of the project chooses."""
import copy
import heapq
import itertools
import random
import re
import threading
import time

from description import Refused, invalid

ZONES = {"europe-west1-b": "europe-west1", "europe-west1-c": "europe-west1", "us-central1-a": "us-central1"}
ROOT = "https://www.googleapis.com/compute/v1/projects"
NAME = re.compile("[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
LABEL = re.compile("[a-z0-9_-]{0,63}")


class Project:
    def __init__(self, name, settings):
        self.name, self.settings = name, settings
        self.random = random.Random(settings.get("seed", 0))
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.instances, self.disks, self.operations, self.requests = {}, {}, {}, {}
        self.events, self.numbers = [], itertools.count(1)
        self.neighbours = {}
        self.fail_next = False  # the next operation ends in an error
        for zone, name in settings.get("taken_before", []):
            self.disks[(zone, name)] = self.new_disk(zone, name, {})
            self.neighbours[("disk", zone, name)] = None

    # time

    def later(self, share, act):
        """Does something at a share of an operation's usual time."""
        heapq.heappush(self.events, (time.monotonic() + share * self.settings.get("operation", 0.1), next(self.numbers), act))

    def advance(self, to_the_end=False):
        while self.events and (to_the_end or self.events[0][0] <= time.monotonic()):
            heapq.heappop(self.events)[2]()
        self.changed.notify_all()

    # operations

    def begin(self, kind, target, scope):
        name = f"operation-{next(self.numbers)}"
        place, where = scope.split("/")
        operation = {
            "kind": "compute#operation", "id": str(next(self.numbers)), "name": name, "operationType": kind, "status": "PENDING",
            "targetLink": f"{ROOT}/{self.name}/{target}", "selfLink": f"{ROOT}/{self.name}/{scope}/operations/{name}",
            place[:-1]: f"{ROOT}/{self.name}/{scope}", "insertTime": "2026-01-01T00:00:00.000-08:00",
        }
        self.operations[(scope, name)] = operation
        self.later(0.2, lambda: operation.update(status="RUNNING") if operation["status"] == "PENDING" else None)
        return operation

    @staticmethod
    def end(operation, code=None, message=""):
        operation.update(status="DONE", progress=100)
        if code:
            operation["error"] = {"errors": [{"code": code, "message": message}]}

    def fails(self):
        fails, self.fail_next = self.fail_next, False
        return fails

    # machines

    def bulk_insert(self, parameters, body):
        scope = f"zones/{parameters['zone']}" if "zone" in parameters else f"regions/{parameters['region']}"
        if scope not in [f"zones/{zone}" for zone in ZONES] + [f"regions/{region}" for region in ZONES.values()]:
            raise Refused(404, "notFound", f"{scope} does not exist")
        names = list(body.get("perInstanceProperties", {}))
        properties = body["instanceProperties"]
        check_machines(names, body, properties)
        zone = parameters.get("zone") or self.random.choice([zone for zone, region in ZONES.items() if region == parameters["region"]])
        for name in names:
            self.add_neighbours(zone, name, properties["labels"])
        if any((other, name) in self.instances for other in ZONES for name in names):
            if self.random.random() < 0.5:
                raise Refused(409, "alreadyExists", "an instance of this name exists")
            operation = self.begin("bulkInsert", scope, scope)
            self.later(0.3, lambda: self.end(operation, "RESOURCE_ALREADY_EXISTS", "an instance of this name exists"))
            return operation
        operation = self.begin("bulkInsert", scope, scope)
        fails_at = self.random.choice([0.3, 0.5, 0.8]) if self.fails() else None
        for index, name in enumerate(names):
            share = 0.4 + 0.3 * index / len(names)
            if fails_at is None or share <= fails_at:
                self.later(share, lambda name=name: self.make_disks(zone, name, properties))
                if fails_at is None or share + 0.1 <= fails_at:
                    self.later(share + 0.1, lambda name=name: self.make_instance(zone, name, properties))
        if fails_at is None:
            self.later(1.0, lambda: self.finish(operation, zone, names))
        else:
            self.later(fails_at + 0.1, lambda: self.roll_back(operation, zone, names))
        return operation

    def disk_name(self, name, index):
        return name if index == 0 else f"{name}-{index}"

    def make_disks(self, zone, name, properties):
        for index, disk in enumerate(properties["disks"]):
            named = (zone, self.disk_name(name, index))
            # "If a disk with the same name already exists in the given region, the existing disk is attached"
            if disk["type"] == "PERSISTENT" and named not in self.disks:
                made = disk["initializeParams"]
                self.disks[named] = self.new_disk(*named, made.get("labels", {}), made.get("diskSizeGb", "10"), made.get("diskType"))
                self.disks[named]["description"] = made.get("description", "")

    def new_disk(self, zone, name, labels, size="10", kind="pd-standard"):
        return {
            "kind": "compute#disk", "id": str(next(self.numbers)), "name": name, "zone": f"{ROOT}/{self.name}/zones/{zone}",
            "labels": dict(labels), "sizeGb": size, "type": f"{ROOT}/{self.name}/zones/{zone}/diskTypes/{kind}", "status": "READY",
            "creationTimestamp": "2026-01-01T00:00:00.000-08:00", "users": [],
        }

    def new_instance(self, zone, name, labels, disks, status):
        return {
            "kind": "compute#instance", "id": str(next(self.numbers)), "name": name, "zone": f"{ROOT}/{self.name}/zones/{zone}",
            "labels": dict(labels), "status": status, "disks": disks, "creationTimestamp": "2026-01-01T00:00:00.000-08:00",
            "networkInterfaces": [{
                "name": "nic0", "networkIP": "127.0.0.1",
                "accessConfigs": [{"type": "ONE_TO_ONE_NAT", "name": "External NAT", "natIP": "127.0.0.1"}],
            }],
        }

    def make_instance(self, zone, name, properties):
        attached = []
        for index, disk in enumerate(properties["disks"]):
            one = {"index": index, "type": disk["type"], "mode": "READ_WRITE", "boot": disk.get("boot", False),
                   "autoDelete": disk.get("autoDelete", False), "deviceName": disk.get("deviceName", f"persistent-disk-{index}")}
            if disk["type"] == "PERSISTENT":
                source = self.disks[(zone, self.disk_name(name, index))]
                source["users"].append(f"{ROOT}/{self.name}/zones/{zone}/instances/{name}")
                one |= {"source": f"{source['zone']}/disks/{source['name']}", "diskSizeGb": source["sizeGb"]}
            else:
                one |= {"diskSizeGb": "375", "interface": "NVME"}
            attached.append(one)
        instance = self.new_instance(zone, name, properties["labels"], attached, "PROVISIONING")
        instance["description"] = properties.get("description", "")
        if not properties["networkInterfaces"][0].get("accessConfigs"):
            del instance["networkInterfaces"][0]["accessConfigs"]
        self.instances[(zone, name)] = instance

    def finish(self, operation, zone, names):
        for name in names:
            if (zone, name) in self.instances:
                self.instances[(zone, name)]["status"] = "RUNNING"
        self.end(operation)

    def roll_back(self, operation, zone, names):
        """Machines that were made go again; disks that had no machine yet are forgotten, as an interrupted creation may leave them."""
        for name in names:
            if (zone, name) in self.instances:
                self.remove_instance(zone, name)
        self.end(operation, "ZONE_RESOURCE_POOL_EXHAUSTED", "the zone has no room")

    # removals

    def remove_instance(self, zone, name):
        instance = self.instances.pop((zone, name), None)
        for disk in instance["disks"] if instance else []:
            if disk["type"] == "PERSISTENT":
                named = (zone, disk["source"].rsplit("/", 1)[1])
                if disk["autoDelete"]:
                    self.disks.pop(named, None)
                elif named in self.disks:
                    self.disks[named]["users"] = []

    def delete_instance(self, parameters, _body):
        named = (parameters["zone"], parameters["instance"])
        instance = self.instance(*named)
        if self.settings.get("forbidden"):
            raise Refused(403, "forbidden", "the account may not delete instances")
        if instance["status"] == "STOPPING":
            raise Refused(400, "resourceNotReady", f"the resource {named[1]} is not ready")
        operation = self.begin("delete", "zones/{}/instances/{}".format(*named), f"zones/{named[0]}")
        if self.fails():
            self.later(0.5, lambda: self.end(operation, "INTERNAL_ERROR", "something is wrong"))
            return operation
        before, instance["status"] = instance["status"], "STOPPING"

        def gone():
            self.remove_instance(*named)
            self.end(operation)

        self.later(1.0, gone)
        return operation

    def delete_disk(self, parameters, _body):
        named = (parameters["zone"], parameters["disk"])
        if named not in self.disks:
            raise Refused(404, "notFound", f"the disk {named[1]} was not found")
        if self.disks[named]["users"]:
            raise Refused(400, "resourceInUseByAnotherResource", f"the disk {named[1]} is in use")
        operation = self.begin("delete", "zones/{}/disks/{}".format(*named), f"zones/{named[0]}")
        if self.fails():
            self.later(0.5, lambda: self.end(operation, "INTERNAL_ERROR", "something is wrong"))
            return operation

        def gone():
            self.disks.pop(named, None)
            self.end(operation)

        self.later(0.6, gone)
        return operation

    def set_auto_delete(self, parameters, _body, query):
        named = (parameters["zone"], parameters["instance"])
        disks = [disk for disk in self.instance(*named)["disks"] if disk["deviceName"] == query["deviceName"][0]]
        if not disks:
            raise invalid(f"{named[1]} has no disk {query['deviceName'][0]}")
        operation = self.begin("setDiskAutoDelete", "zones/{}/instances/{}".format(*named), f"zones/{named[0]}")

        def done():
            disks[0]["autoDelete"] = query["autoDelete"][0] == "true"
            self.end(operation)

        self.later(0.2, done)
        return operation

    # looks

    def instance(self, zone, name):
        if (zone, name) not in self.instances:
            raise Refused(404, "notFound", f"the instance {name} was not found")
        return self.instances[(zone, name)]

    def guest_attributes(self, parameters, query):
        instance = self.instance(parameters["zone"], parameters["instance"])
        if query.get("queryPath") != ["hostkeys/"] or instance["status"] != "RUNNING" or not self.settings.get("host_keys", True):
            raise Refused(404, "notFound", "there are no such attributes")
        item = {"namespace": "hostkeys", "key": "ssh-ed25519", "value": self.settings.get("host_key", "AAAAC3NzaC1lZDI1NTE5AAAAItest")}
        return {"kind": "compute#guestAttributes", "queryPath": "hostkeys/", "queryValue": {"items": [item]}}

    # neighbours: what isn't ours, beside each machine of ours

    def add_neighbours(self, zone, name, labels):
        claim = labels.get("diskproof-claim", "")
        like = {**labels, "diskproof-claim": claim[:-1] + ("0" if claim[-1:] != "0" else "1")}
        longer = {**labels, "diskproof-claim": claim + "0"}
        for named, of in [(f"{name}-x", like), (f"{name}0", longer), (f"x{name[1:]}", {"owner": claim})]:
            if (zone, named) in self.instances or len(named) > 63:
                continue
            disk = self.disks[(zone, named)] = self.new_disk(zone, named, of)
            disk["users"] = [f"{ROOT}/{self.name}/zones/{zone}/instances/{named}"]
            attached = {"index": 0, "type": "PERSISTENT", "boot": True, "autoDelete": True, "deviceName": "diskproof-boot",
                        "source": f"{disk['zone']}/disks/{named}", "diskSizeGb": "10"}
            self.instances[(zone, named)] = self.new_instance(zone, named, of, [attached], "RUNNING")
            self.disks[(zone, f"{named}-free")] = self.new_disk(zone, f"{named}-free", of)
            if self.settings.get("taken") and not self.neighbours:
                # at this moment, somebody makes a disk with the name that our first volume would get
                self.disks[(zone, f"{name}-1")] = self.new_disk(zone, f"{name}-1", {})
                self.neighbours[("disk", zone, f"{name}-1")] = None
            for key in [("instance", zone, named), ("disk", zone, named), ("disk", zone, f"{named}-free")]:
                self.neighbours[key] = copy.deepcopy(self.look_up(key))

    def look_up(self, key):
        return (self.instances if key[0] == "instance" else self.disks).get(key[1:])

    def verdict(self):
        """What is left of ours, and what is not as it was of others', once nothing is on its way any more."""
        with self.lock:
            self.advance(to_the_end=True)
            changed = [key for key, before in self.neighbours.items()
                       if self.look_up(key) is None or before is not None and self.look_up(key) != before]
            mine = [key for key in [("instance", *named) for named in self.instances] + [("disk", *named) for named in self.disks]
                    if key not in self.neighbours]
            return {"ours": ["/".join(key) for key in mine], "foreign_changed": ["/".join(key) for key in changed],
                    "neighbours": len(self.neighbours)}


def check_machines(names, body, properties):
    """Rules of bulkInsert that the description tells in words."""
    if not names or body.get("count") != str(len(names)):
        raise invalid("count and perInstanceProperties differ")
    if "/" in properties["machineType"]:
        raise Refused(500, "internalError", "INTERNAL_ERROR: the machine type must be a name")
    if not all(NAME.fullmatch(name) for name in names):
        raise invalid("a name is not valid")
    for disk in properties["disks"]:
        made = disk.get("initializeParams", {})
        if "/" in made.get("diskType", "") or "diskName" in made:
            raise invalid("initializeParams of several machines take a type's name, and no diskName")
        if disk["type"] == "SCRATCH" and ("labels" in made or "deviceName" in disk):
            raise invalid("labels and deviceName are for persistent disks")
        if disk.get("boot") and "sourceImage" not in made:
            raise invalid("a boot disk needs a sourceImage")
        check_labels(made.get("labels", {}))
    check_labels(properties.get("labels", {}))
    devices = [disk["deviceName"] for disk in properties["disks"] if "deviceName" in disk]
    if len(devices) != len(set(devices)):
        raise invalid("two disks have one deviceName")
    scheduling = properties.get("scheduling", {})
    if ("terminationTime" in scheduling or "maxRunDuration" in scheduling) != ("instanceTerminationAction" in scheduling):
        raise invalid("a termination needs both its time and its action")


def check_labels(labels):
    if len(labels) > 64:
        raise invalid("more than 64 labels")
    for key, value in labels.items():
        if not re.fullmatch("[a-z][a-z0-9_-]{0,62}", key) or not LABEL.fullmatch(value):
            raise invalid(f"the label {key}={value} is not valid")
