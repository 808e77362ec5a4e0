"""What EC2 refuses and moto takes: parameters that botocore's service model doesn't have, and values that EC2's rules exclude."""

import base64
import re

from botocore import xform_name  # noqa: F401  (fails early where botocore is missing)
from botocore.session import Session


class Refused(Exception):
    def __init__(self, code, message, status=400):
        super().__init__(message)
        self.code, self.message, self.status = code, message, status


MODEL = Session().get_service_model("ec2")
TAG_TEXT = re.compile(r"^[\w +\-=.:/@]*$", re.UNICODE)
GROUP_TEXT = re.compile(r"^[a-zA-Z0-9. _\-:/()#,@\[\]+=&;{}!$*]{1,255}$")
DEVICE = re.compile(r"^/dev/(sd[a-z][0-9]{0,2}|xvd[a-z]{1,2})$")


def wire_name(shape, name):
    """The name of a member in a request, by the rules of the protocol ec2."""
    told = shape.serialization
    if "queryName" in told:
        return told["queryName"]
    name = told.get("name", name)
    return name[0].upper() + name[1:]


def read(operation, form):
    """The input of a request as nested values; refuses what the model doesn't know."""
    left = {key: value for key, value in form.items() if key not in ("Action", "Version")}
    shape = MODEL.operation_model(operation).input_shape
    value = structure(shape, "", left) if shape else {}
    if left:
        raise Refused("UnknownParameter", f"The parameter {sorted(left)[0]} is not recognized")
    return value


def structure(shape, prefix, left):
    found = {}
    for name, member in shape.members.items():
        key = prefix + wire_name(member, name)
        if any(k == key or k.startswith(key + ".") for k in left):
            found[name] = value_of(member, key, left)
        elif name in shape.required_members:
            raise Refused("MissingParameter", f"The request must contain the parameter {key}")
    return found


def value_of(shape, key, left):
    if shape.type_name == "structure":
        return structure(shape, key + ".", left)
    if shape.type_name == "list":
        items, index = [], 1
        while any(k == f"{key}.{index}" or k.startswith(f"{key}.{index}.") for k in left):
            items.append(value_of(shape.member, f"{key}.{index}", left))
            index += 1
        return items
    if key not in left:
        raise Refused("UnknownParameter", f"The parameter {key} has parts that are not recognized")
    return scalar(shape, key, left.pop(key))


def scalar(shape, key, text):
    kind = shape.type_name
    if kind in ("integer", "long"):
        if not re.fullmatch(r"-?\d+", text):
            raise Refused("InvalidParameterValue", f"{key}: {text} is not an integer")
        return int(text)
    if kind == "boolean":
        if text not in ("true", "false"):
            raise Refused("InvalidParameterValue", f"{key}: {text} is not true or false")
        return text == "true"
    if getattr(shape, "enum", None) and text not in shape.enum:
        raise Refused("InvalidParameterValue", f"{key}: {text} is none of {', '.join(shape.enum[:5])}...")
    return text


def check(operation, value):
    """EC2's own rules for what diskproof sends."""
    for specification in value.get("TagSpecifications", []):
        check_tags(specification.get("Tags", []))
    if operation == "RunInstances":
        check_run(value)
    if operation == "CreateSecurityGroup":
        for key in ("GroupName", "Description"):
            if not GROUP_TEXT.match(value[key]):
                raise Refused("InvalidParameterValue", f"{key}: characters that are not allowed")
        if value["GroupName"].startswith("sg-"):
            raise Refused("InvalidParameterValue", "group names may not begin with sg-")


def check_tags(tags):
    keys = [tag["Key"] for tag in tags]
    if len(keys) > 50 or len(set(keys)) < len(keys):
        raise Refused("InvalidParameterValue", "too many tags, or one twice")
    for tag in tags:
        if not 1 <= len(tag["Key"]) <= 128 or len(tag["Value"]) > 256 or tag["Key"].startswith("aws:"):
            raise Refused("InvalidParameterValue", f"tag {tag['Key']}: length or prefix")
        if not TAG_TEXT.match(tag["Key"]) or not TAG_TEXT.match(tag["Value"]):
            raise Refused("InvalidParameterValue", f"tag {tag['Key']}: characters that are not allowed everywhere")


def check_run(value):
    token = value.get("ClientToken", "")
    if not token:
        raise Refused("MissingParameter", "diskproof's own rule: no launch without a ClientToken")
    if len(token) > 64 or not token.isascii():
        raise Refused("InvalidParameterValue", "ClientToken: more than 64 characters, or not ASCII")
    if len(base64.b64decode(value.get("UserData", ""), validate=True)) > 16384:
        raise Refused("InvalidParameterValue", "User data is limited to 16384 bytes")
    if value.get("NetworkInterfaces") and (value.get("SecurityGroupIds") or value.get("SubnetId")):
        raise Refused("InvalidParameterCombination", "Network interfaces and an instance-level parameter may not both be given")
    devices = [mapping["DeviceName"] for mapping in value.get("BlockDeviceMappings", [])]
    if len(set(devices)) < len(devices):
        raise Refused("InvalidBlockDeviceMapping", "a device name is used twice")
    for mapping in value.get("BlockDeviceMappings", []):
        if not DEVICE.match(mapping["DeviceName"]):
            raise Refused("InvalidBlockDeviceMapping", f"{mapping['DeviceName']} is no device name")
        check_ebs(mapping.get("Ebs", {}))


# type: sizes in GiB, I/Os per second, I/Os per second and GiB
TYPES = {
    "gp2": ((1, 16384), None, None),
    "gp3": ((1, 65536), (3000, 80000), 500),
    "io1": ((4, 16384), (100, 64000), 50),
    "io2": ((4, 65536), (100, 256000), 1000),
    "st1": ((125, 16384), None, None),
    "sc1": ((125, 16384), None, None),
}


def check_ebs(ebs):
    if "VolumeType" not in ebs:
        return
    (least, most), rates, per_gib = TYPES[ebs["VolumeType"]]
    size, iops, throughput = ebs.get("VolumeSize"), ebs.get("Iops"), ebs.get("Throughput")
    if size is None or not least <= size <= most:
        raise Refused("InvalidParameterValue", f"Volume of {size} GiB is not within {least}-{most}")
    if iops is not None and rates is None:
        raise Refused("InvalidParameterCombination", f"iops is not supported for {ebs['VolumeType']}")
    if iops is None and ebs["VolumeType"] in ("io1", "io2"):
        raise Refused("MissingParameter", "The parameter iops must be specified for io1 and io2 volumes")
    if iops is not None and (not rates[0] <= iops <= rates[1] or (iops > 3000 and iops > per_gib * size)):
        raise Refused("InvalidParameterValue", f"Iops of {iops} is not allowed for {size} GiB")
    if throughput is not None and ebs["VolumeType"] != "gp3":
        raise Refused("InvalidParameterCombination", f"throughput is not supported for {ebs['VolumeType']}")
    if throughput is not None and not (125 <= throughput <= 2000 and throughput * 4 <= (iops or 3000)):
        raise Refused("InvalidParameterValue", f"Throughput of {throughput} is not allowed")
