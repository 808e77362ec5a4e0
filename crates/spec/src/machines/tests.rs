use super::{Form, MachineList, of_text, range};
use crate::load::LoadError;
use record::machine::Machine;

fn read(form: Form, text: &str) -> MachineList {
    of_text("list", text, form).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(form: Form, text: &str) -> String {
    match of_text("list", text, form) {
        Err(LoadError::Diagnostics(all)) => all.to_string(),
        other => panic!("{other:?}"),
    }
}

fn names(machines: &[Machine]) -> Vec<&str> {
    machines.iter().map(|machine| machine.name.as_str()).collect()
}

fn in_group<'m>(list: &'m MachineList, group: &str) -> Vec<&'m str> {
    let members = list.machines.iter().filter(|machine| machine.groups.iter().any(|known| known == group));
    members.map(|machine| machine.name.as_str()).collect()
}

#[test]
fn ranges_keep_their_width_and_their_steps() {
    let all = |pattern| range::expand(pattern).unwrap();
    assert_eq!(all("nas"), ["nas"]);
    assert_eq!(all("web[08:11].x"), ["web08.x", "web09.x", "web10.x", "web11.x"]);
    assert_eq!(all("n[8:11]"), ["n8", "n9", "n10", "n11"]);
    assert_eq!(all("n[1:9:4]"), ["n1", "n5", "n9"]);
    assert_eq!(all("[a:b][1:2]"), ["a1", "a2", "b1", "b2"]);
    assert_eq!(all("web[01:20]").len(), 20);
    for wrong in [
        "a[1",
        "a]1",
        "a[2:1]",
        "a[1]",
        "a[1:2:0]",
        "a[x:2]",
        "a[1:99999999999]",
        &"[0:9]".repeat(20),
        &"[0:9]".repeat(200),
    ] {
        assert!(range::expand(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_list_of_our_own_is_read_and_errors_name_line_and_key() {
    let list = read(
        Form::Yaml,
        "currency: EUR\nmachines:\n  ham0: { ssh: root@10.0.0.10, mac: \"52:54:00:12:34:56\", groups: [storage], tags: nvme, \
         address: 10.1.0.10, price: 730/month }\n  web[01:03]: { groups: [web, front] }\n  Nas: \n",
    );
    assert_eq!(names(&list.machines), ["ham0", "web01", "web02", "web03", "Nas"]);
    let ham0 = &list.machines[0];
    assert_eq!((ham0.ssh.as_str(), ham0.source.as_str()), ("root@10.0.0.10", "list:3"));
    assert_eq!(ham0.mac.map(|mac| mac.to_string()).as_deref(), Some("52:54:00:12:34:56"));
    assert_eq!((&ham0.tags, ham0.address.as_deref()), (&vec!["nvme".to_owned()], Some("10.1.0.10")));
    let price = ham0.price.as_ref().unwrap();
    assert_eq!((price.per_hour, price.currency.as_deref()), (1.0, Some("EUR")));
    assert_eq!(list.machines[2].ssh, "web02");
    assert_eq!(in_group(&list, "front"), ["web01", "web02", "web03"]);
    for (text, says) in [
        ("machines:\n  a: { shh: b }\n", "list:2:8: unknown key `shh` in a machine\n"),
        ("machines:\n  a: { shh: b }\n", "did you mean `ssh`?"),
        ("machines: { a: { ssh: \"-oProxyCommand=x\" } }", "is not a destination"),
        ("machines: { a: { mac: 52:54 } }", "is not a hardware address"),
        ("machines: { a: { price: 12 } }", "does not say for how long"),
        ("machines: { \"a b\": {} }", "cannot be the name of a machine"),
        ("machines: { \"a[1:2]\": { ssh: x } }", "`ssh` belongs to one machine"),
        ("machines: { \"a[1:2]\": {}, a2: {} }", "machine `a2` is there twice"),
        ("machines: {}", "there are no machines in it"),
    ] {
        let said = refused(Form::Yaml, text);
        assert!(said.contains(says), "{text}: {said}");
    }
}

const INI: &str = "
# comment
mail.example.com
lone ansible_host=10.0.0.9 ansible_port=2222   # with a port
[web]
web[01:03]:2200 ansible_user=deploy
[db]
db-[a:b]
desk ansible_connection=local
[db:vars]
ansible_user = \"postgres\"
ansible_ssh_private_key_file=/keys/db
[storage:children]
db
web
[storage:vars]
ansible_user=nobody
mac=52:54:00:00:00:01
";

#[test]
fn an_inventory_in_ini_has_groups_children_ranges_and_variables() {
    let list = read(Form::Ini, INI);
    assert_eq!(
        names(&list.machines),
        ["mail.example.com", "lone", "web01", "web02", "web03", "db-a", "db-b"]
    );
    assert_eq!(in_group(&list, "storage"), ["web01", "web02", "web03", "db-a", "db-b"]);
    assert_eq!(in_group(&list, "web"), ["web01", "web02", "web03"]);
    let by = |name: &str| list.machines.iter().find(|machine| machine.name == name).unwrap();
    assert_eq!((by("lone").ssh.as_str(), by("lone").port), ("10.0.0.9", Some(2222)));
    assert_eq!(
        (by("web02").ssh.as_str(), by("web02").port),
        ("deploy@web02", Some(2200)),
        "the host's own wins"
    );
    assert_eq!(by("db-a").ssh, "postgres@db-a", "the nearer group wins");
    assert_eq!(by("db-a").identity.as_deref(), Some(std::path::Path::new("/keys/db")));
    assert!(by("db-a").mac.is_some() && by("lone").mac.is_none());
    assert!(list.notes.len() == 1 && list.notes[0].contains("desk is left out"), "{:?}", list.notes);
    for (text, says) in [
        ("a b\n", "list:1:1: `b` after a host sets nothing"),
        ("[web\n", "there is a `[` without its `]`"),
        ("[web:kids]\na\n", "`kids` is not a part of a group"),
        ("[a:vars]\nx\n", "list:2:1: `x` sets nothing"),
        ("a ansible_port=70000", "is not a port"),
        ("a ansible_host=-oProxyCommand=x", "cannot be used as ansible_host"),
        ("a ansible_host='{{ b }}'", "--machines ansible:FILE asks `ansible-inventory`"),
    ] {
        let said = refused(Form::Ini, text);
        assert!(said.contains(says), "{text}: {said}");
    }
}

const YAML: &str = "
all:
  hosts: { mail: { ansible_host: 10.0.0.2 } }
  vars: { ansible_user: root }
  children:
    storage:
      vars: { ansible_port: 2200 }
      children: { db: { hosts: { 'db[1:2]': } } }
    web: { hosts: { w1: { ansible_user: www, other: [1, 2] } } }
";

#[test]
fn an_inventory_in_yaml_says_the_same_as_ansible_s_own_list() {
    let list = read(Form::Yaml, YAML);
    assert_eq!(names(&list.machines), ["mail", "db1", "db2", "w1"]);
    let ssh: Vec<&str> = list.machines.iter().map(|machine| machine.ssh.as_str()).collect();
    assert_eq!(ssh, ["root@10.0.0.2", "root@db1", "root@db2", "www@w1"]);
    assert_eq!(list.machines[1].port, Some(2200));
    assert_eq!(list.machines[1].groups, ["storage", "db"]);
    let said = refused(Form::Yaml, "all: { host: { a: } }");
    assert!(said.contains("did you mean `hosts`?"), "{said}");
    let listed = read(
        Form::List,
        r#"{"_meta": {"hostvars": {"db1": {"ansible_user": "root", "ansible_port": 2200}}},
            "all": {"children": ["ungrouped", "storage"]}, "storage": {"children": ["db"]}, "db": {"hosts": ["db1", "db2"]}}"#,
    );
    assert_eq!((names(&listed.machines), listed.machines[0].port), (vec!["db1", "db2"], Some(2200)));
    assert_eq!(listed.machines[0].groups, ["storage", "db"]);
}

#[test]
fn groups_in_a_circle_end() {
    let list = read(Form::Ini, "[a:children]\nb\n[b:children]\na\n[b]\nhost\n");
    assert_eq!(list.machines[0].groups, ["a", "b"]);
}
