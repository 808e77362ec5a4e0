//! `diskproof machines` with a real sshd and ssh. All machines are this one, by many names.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

mod machines;

use machines::site::{Site, lines, text, wait_for};
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use testkit::Silence;

#[test]
fn loop_status_shows_who_is_on_and_who_is_off_holds_nobody_up() {
    let Some(site) = Site::started("status") else { return };
    let _silence = Silence::make();
    let said = site.run(&["status", "--json", "*", "lost"]);
    assert!(said.status.success(), "{}", text(&said.stderr));
    let all = lines(&said.stdout);
    let names: Vec<&str> = all.iter().map(|line| line["machine"].as_str().unwrap()).collect();
    assert_eq!((names.len(), names[4]), (5, "lost"), "it is the last to be told: {names:?}");
    let by = |name: &str| all.iter().find(|line| line["machine"] == name).unwrap();
    for name in ["ham0", "ham1"] {
        let facts = &by(name)["facts"];
        assert_eq!(by(name)["state"], "on");
        assert!(facts["memory_bytes"].as_u64() > facts["free_bytes"].as_u64(), "{facts}");
        assert!(facts["cpus"].as_u64() > Some(0) && facts["disks"].is_array(), "{facts}");
    }
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert_eq!(by("ham1")["facts"]["boot_id"], boot.trim());
    for (name, state, reason) in [
        ("lost", "no_answer", "timed out"),
        ("closed", "no_ssh", "Connection refused"),
        ("stranger", "no_ssh", "Host key verification failed"),
    ] {
        let line = by(name);
        assert_eq!(line["state"], state, "{line}");
        assert!(line["reason"].as_str().unwrap().contains(reason) && line["facts"].is_null(), "{line}");
    }
    assert!(!fs::exists(site.dir.join("cache")).unwrap(), "nothing is copied for it");
    let table = text(&site.run(&["status", "@storage,closed"]).stdout);
    assert!(table.starts_with("machine  state") && table.contains("\nham0     on     "), "{table}");
    assert!(
        table.contains("\nclosed   no ssh     connect to host")
            && table.contains("\n2 of 3 on, which are one machine: "),
        "{table}"
    );
}

#[test]
fn loop_leftovers_are_seen() {
    let Some(site) = Site::started("leftovers") else { return };
    fs::create_dir_all(site.dir.join("far/journal")).unwrap();
    fs::write(site.dir.join("far/journal/20261121-201455-3f9a.jsonl"), "").unwrap();
    let all = lines(&site.run(&["status", "--json", "ham0"]).stdout);
    let journals = all[0]["facts"]["journals"].as_array().unwrap();
    let run = journals.iter().find(|journal| journal["run"] == "20261121-201455-3f9a");
    assert!(run.is_some_and(|run| run["unchanged_seconds"].is_u64()), "{journals:?}");
}

#[test]
fn loop_a_command_runs_everywhere_and_exit_codes_are_kept() {
    let Some(site) = Site::started("run") else { return };
    let said = site.run(&["run", "@storage", "--", "printf", "%s|%s\n", "a b", "$HOME"]);
    let mut out: Vec<String> = text(&said.stdout).lines().map(str::to_owned).collect();
    out.sort();
    assert_eq!(out, ["ham0: a b|$HOME", "ham1: a b|$HOME"], "words reach the program as they are");
    assert!(said.status.success());
    let folded = site.run(&["run", "ham*", "-b", "--", "sh", "-c", "echo one; echo two >&2"]);
    assert_eq!(text(&folded.stdout), "── ham0,ham1 (2)\none\ntwo\n");
    // 127.0.0.2 is ham1
    let script = "set -- $SSH_CONNECTION; echo $3; [ $3 = 127.0.0.1 ] || exit 7";
    let differ = site.run(&["run", "ham*", "-b", "--", "sh", "-c", script]);
    assert_eq!(text(&differ.stdout), "── ham0\n127.0.0.1\n── ham1\n127.0.0.2\n");
    assert_eq!(
        (differ.status.code(), text(&differ.stderr).as_str()),
        (Some(7), "diskproof: ham1: exit code 7\n")
    );
    let gone = site.run(&["run", "ham0", "closed", "--json", "--", "true"]);
    assert_eq!(gone.status.code(), Some(3));
    let all = lines(&gone.stdout);
    let closed = all.iter().find(|line| line["machine"] == "closed").unwrap();
    assert!(
        closed["exit_code"].is_null() && closed["reason"].as_str().unwrap().contains("refused"),
        "{closed}"
    );
    let ham0 = all.iter().find(|line| line["machine"] == "ham0").unwrap();
    assert_eq!(ham0["exit_code"], 0);
    let late = site.run(&["run", "ham0", "--timeout", "1s", "--", "sleep", "600"]);
    assert_eq!(late.status.code(), Some(3));
    assert!(text(&late.stderr).contains("ended here after its time limit"), "{}", text(&late.stderr));
    let root = site.run(&["run", "ham0", "--root", "--", "id", "-u"]);
    assert_eq!(text(&root.stdout), "ham0: 0\n");
    let nobody = site.run(&["run", "hma*", "--", "true"]);
    assert_eq!(nobody.status.code(), Some(2));
    assert!(
        text(&nobody.stderr).contains("`hma*` selects no machine; machines: ham0"),
        "{}",
        text(&nobody.stderr)
    );
}

#[test]
fn loop_diskproof_travels_once_and_over_one_connection() {
    let Some(site) = Site::started("verbs") else { return };
    let first = site.run(&["devices", "ham0", "--json"]);
    assert!(first.status.success(), "{}", text(&first.stderr));
    let line = &lines(&first.stdout)[0];
    assert!(line["machine"] == "ham0" && line["answer"].is_array(), "{line}");
    assert_eq!(site.sshd.logins(), 1, "look, copy, look and run share it");
    let copy = fs::read_dir(site.dir.join("cache/diskproof"))
        .unwrap()
        .flatten()
        .next()
        .unwrap()
        .path()
        .join("diskproof");
    let written = fs::metadata(&copy).unwrap().modified().unwrap();
    let undone = site.run(&["undo", "ham0"]);
    assert_eq!((undone.status.code(), text(&undone.stdout).as_str()), (Some(0), "── ham0\nnothing\n"));
    assert_eq!(fs::metadata(&copy).unwrap().modified().unwrap(), written, "it isn't sent again");
    let wrong = site.run(&["undo", "ham0", "--", "--no-such-flag"]);
    assert_eq!(wrong.status.code(), Some(2), "the far command's own code");
    assert_eq!(site.sockets(), Vec::<String>::new());
}

#[test]
fn loop_watching_asks_over_the_same_connections_and_ends_with_its_process() {
    let Some(site) = Site::started("watch") else { return };
    let mut watch =
        site.command(&["status", "@storage", "--json", "--watch=1s"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut answers = BufReader::new(watch.stdout.take().unwrap()).lines();
    for _ in 0..6 {
        let line: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
        assert_eq!(line["state"], "on");
    }
    assert_eq!(site.sshd.logins(), 2, "three rounds, two machines");
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", watch.id())).unwrap();
    let masters: Vec<PathBuf> =
        children.split_whitespace().map(|pid| PathBuf::from("/proc").join(pid)).collect();
    assert!(masters.len() >= 2, "{children}");
    watch.kill().unwrap();
    watch.wait().unwrap();
    wait_for("the shared connections to end with their owner", || {
        !masters.iter().any(|master| master.exists())
    });
    assert_eq!(site.sockets().len(), 1, "killed, it could remove nothing");
    assert!(site.run(&["undo", "ham0"]).status.success());
    assert_eq!(site.sockets(), Vec::<String>::new(), "the next command does");
}

#[test]
fn loop_a_machine_is_woken_and_waited_for() {
    let Some(mut site) = Site::new("wake") else { return };
    let card = UdpSocket::bind("127.0.0.1:0").unwrap();
    card.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let to = card.local_addr().unwrap().to_string();
    let list = "machines: { ham0: { mac: \"52:54:00:12:34:56\" }, ham1: {} }";
    fs::write(site.dir.join("list.yaml"), list).unwrap();
    let without = site.run(&["wake", "ham*", "--machines", "list.yaml"]);
    assert_eq!(without.status.code(), Some(2));
    assert!(
        text(&without.stderr).contains("no hardware address is known of ham1"),
        "{}",
        text(&without.stderr)
    );
    let never = site.run(&["wake", "ham0", "--machines", "list.yaml", "--broadcast", &to, "--timeout", "1s"]);
    assert_eq!(never.status.code(), Some(3));
    assert!(
        text(&never.stderr).contains("not on after 1 s: ham0: connect to host"),
        "{}",
        text(&never.stderr)
    );
    let mut packet = [0; 200];
    assert_eq!(card.recv(&mut packet).unwrap(), 102);
    let mut wake = site.command(&["wake", "ham0", "--machines", "list.yaml", "--broadcast", &to]);
    let wake = wake.stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(card.recv(&mut packet).unwrap(), 102);
    assert_eq!(&packet[..12], [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x52, 0x54, 0, 0x12, 0x34, 0x56]);
    site.sshd.go_on();
    let woken = wake.wait_with_output().unwrap();
    assert!(
        woken.status.success() && text(&woken.stdout).contains("\nham0 is on, after "),
        "{}",
        text(&woken.stdout)
    );
}

#[test]
fn loop_ansible_s_own_reading_of_an_inventory_is_ours() {
    let Some(site) = Site::started("ansible") else { return };
    let port = site.sshd.port();
    let inventory = format!(
        "[web]\n127.0.0.[3:5]\n[db]\nham[0:1]\n[all:vars]\nansible_port={port}\nansible_user=root\n[site:children]\nweb\ndb\n"
    );
    fs::write(site.dir.join("hosts"), inventory).unwrap();
    let on = lines(&site.run(&["status", "@site", "--machines", "hosts", "--json"]).stdout);
    assert!(on.len() == 5 && on.iter().all(|line| line["state"] == "on"), "{on:?}");
    if !fs::exists("/usr/bin/ansible-inventory").unwrap() {
        eprintln!("SKIPPED the comparison with ansible-inventory: it isn't there");
        return;
    }
    let listed = |file: &str| {
        let said = site.run(&["list", "--machines", file, "--json"]);
        assert!(said.status.success(), "{}", text(&said.stderr));
        let mut all = lines(&said.stdout);
        for line in &mut all {
            let mut groups: Vec<String> =
                line["groups"].as_array().unwrap().iter().map(|group| group.to_string()).collect();
            groups.sort();
            line["groups"] = groups.into();
            line["source"] = Value::Null;
        }
        all.sort_by_key(|line| line["name"].to_string());
        all
    };
    assert_eq!(listed("hosts"), listed("ansible:hosts"));
}

#[test]
fn loop_files_are_checked_continued_and_put_in_place_at_once() {
    let Some(site) = Site::started("files") else { return };
    let content: Vec<u8> =
        (0..3_000_000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    fs::write(site.dir.join("image"), &content).unwrap();
    fs::create_dir(site.dir.join("there")).unwrap();
    let there = site.dir.join("there/image");
    let part = site.dir.join("there/image.diskproof-part");
    let to = format!("ham0:{}", site.dir.join("there").to_string_lossy());
    fs::write(&part, &content[..1_000_000]).unwrap();
    let put = site.run(&["put", "image", &to]);
    assert!(put.status.success(), "{}", text(&put.stderr));
    assert!(text(&put.stdout).contains("1.9 MiB of it now"), "it goes on: {}", text(&put.stdout));
    assert_eq!((fs::read(&there).unwrap() == content, part.exists()), (true, false));
    assert_eq!(site.sshd.logins(), 1);
    assert!(text(&site.run(&["put", "image", &to]).stdout).contains("it was there already"));
    fs::write(&part, b"something else").unwrap();
    fs::write(&there, b"old").unwrap();
    assert!(site.run(&["put", "image", &to]).status.success());
    assert!(fs::read(&there).unwrap() == content, "a part of another file isn't continued");
    fs::write(site.dir.join("back.diskproof-part"), &content[..2_000_000]).unwrap();
    let from = format!("ham1:{}", there.to_string_lossy());
    let got = site.run(&["get", &from, "back"]);
    assert!(
        got.status.success() && text(&got.stdout).contains("of it now"),
        "{}{}",
        text(&got.stdout),
        text(&got.stderr)
    );
    assert!(fs::read(site.dir.join("back")).unwrap() == content);
    let both = site.run(&["get", &from.replace("ham1", "@storage"), "all"]);
    assert!(both.status.success(), "{}", text(&both.stderr));
    assert!(
        ["ham0", "ham1"]
            .iter()
            .all(|name| fs::read(site.dir.join("all").join(name).join("image")).unwrap() == content)
    );
    let none = site.run(&["get", "ham0:/no/such/file", "x"]);
    assert_eq!(none.status.code(), Some(3));
    assert!(text(&none.stderr).contains("ham0: /no/such/file: no such file"), "{}", text(&none.stderr));
}

#[test]
fn loop_the_alert_program_gets_each_alert_once_also_over_restarts() {
    let Some(mut site) = Site::started("alerts") else { return };
    let said = site.dir.join("said");
    let tell = |status: u8| {
        let script = format!("#!/bin/sh\ncat >>{}\nexit {status}\n", said.to_string_lossy());
        fs::write(site.dir.join("tell"), script).unwrap();
        let made = Command::new("chmod").arg("755").arg(site.dir.join("tell")).status().unwrap();
        assert!(made.success());
    };
    tell(0);
    let look = |site: &Site| site.run(&["watch", "ham0", "--once", "--alert", "./tell"]).status.code();
    let alerts = || lines(&fs::read(&said).unwrap_or_default());
    assert_eq!((look(&site), alerts().len()), (Some(0), 0));
    site.sshd.halt();
    assert_eq!((look(&site), alerts().len()), (Some(0), 0), "one miss is no alert");
    tell(1);
    assert_eq!(look(&site), Some(3), "the program failed");
    tell(0);
    assert_eq!((look(&site), look(&site)), (Some(0), Some(0)));
    let all = alerts();
    assert_eq!(
        (all.len(), all[1]["what"].as_str()),
        (2, Some("off")),
        "it gets the alert again, and then no more"
    );
    assert_eq!((&all[0], &all[1]["format"]), (&all[1], &"diskproof.alert/1.0".into()));
    site.sshd.go_on();
    assert_eq!((look(&site), alerts()[2]["what"].as_str()), (Some(0), Some("on")));
}

#[test]
fn loop_a_tunnel_opens_and_connects_again() {
    let Some(site) = Site::started("tunnel") else { return };
    let free = testkit::free_port();
    let forward = format!("{free}:127.0.0.1:{}", site.sshd.port());
    let mut tunnel = site
        .command(&["tunnel", "ham0", &forward])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(tunnel.stdout.take().unwrap()).lines();
    let banner = || {
        let mut line = String::new();
        let stream = std::net::TcpStream::connect(("127.0.0.1", free)).unwrap();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line
    };
    assert!(told.next().unwrap().unwrap().starts_with("ham0: open: "));
    assert!(banner().starts_with("SSH-2.0-"), "the port leads to sshd");
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", tunnel.id())).unwrap();
    let killed = Command::new("kill").args(["-9", children.trim()]).status().unwrap();
    assert!(killed.success());
    assert!(told.next().unwrap().unwrap().starts_with("ham0: open: "), "it connects again");
    assert!(banner().starts_with("SSH-2.0-"));
    let asked = Command::new("kill").args(["-TERM", &tunnel.id().to_string()]).status().unwrap();
    assert!(asked.success() && tunnel.wait().unwrap().success());
}
