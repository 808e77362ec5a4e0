//! `diskproof push RUN ADDRESS`: sends a run to a registry or a bucket.

use super::judged::unreadable;
use super::share::{agreed, failure, folder, options_of, size};
use super::show::{find, open_existing};
use crate::args::Push;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use crate::signals::Wish;
use record::id::RunId;
use record::plan::Plan;
use record::printable::{Shown as _, printable};
use record::target::TargetKind;
use share::anonymise::{self, Machine, NameKind, Pseudonyms};
use share::{Packer, Place, Pushed};
use std::collections::BTreeSet;
use verdict::JUDGE;

/// Format of the JSON document; docs/formats.md.
const FORMAT: &str = "diskproof.push/1.0";

pub(crate) fn push(args: &Push, settings: &Settings) -> Result<Exit, Failure> {
    let keep = kept_kinds(&args.keep)?;
    let address = Place::parse(&args.to).map_err(failure)?;
    let store = open_existing(settings)?;
    let run = find(&store, &args.run)?;
    let address = address.for_run(&run.0);
    let options = options_of(&args.place, settings)?;
    let remote = address.open(&options.registry, &options.bucket).map_err(failure)?;
    let names = anonymise::find(&store, &run, &Machine::here(), &keep).map_err(failure)?;
    let plan = store.head(&run).map_err(unreadable)?.plan;
    output::aside(listed(&run, &address, &names, &plan).trim_end());
    if !args.yes && !agreed()? {
        return Err(Failure::input("nothing was sent"));
    }
    let folder = folder(settings);
    let packer = Packer { store: &store, program: env!("CARGO_PKG_VERSION"), judge: JUDGE, folder: &folder };
    let mut packed = packer.pack(&run, Some(&names)).map_err(failure)?;
    if let Some(key) = &args.sign {
        packed.signature = Some(share::sign(&packed.config, key).map_err(failure)?);
    }
    // Until here, a signal ends diskproof at once; the next push removes what it left.
    let wish = Wish::listen_by(options.registry.cancel).map_err(Failure::machine)?;
    let pushed = share::push(&packed, &*remote, args.replace);
    if let (Err(_), Some(signal)) = (&pushed, wish.signal().and_then(|signal| u8::try_from(signal).ok())) {
        output::aside(&format!("stopped: the run isn't at {address}; the same command goes on"));
        return Ok(Exit::Signal(signal));
    }
    let pushed = pushed.map_err(failure)?;
    if args.json {
        output::json(&document(&run, &address, &names, &pushed)?)?;
    } else {
        output::answer(&told(&run, &address, &pushed))?;
    }
    Ok(Exit::Fine)
}

/// The kinds of names that the command line keeps.
fn kept_kinds(words: &[String]) -> Result<BTreeSet<NameKind>, Failure> {
    let mut kinds = BTreeSet::new();
    for word in words {
        match NameKind::ALL.into_iter().find(|kind| kind.name() == word) {
            Some(kind) => {
                kinds.insert(kind);
            }
            None if word == "all" => kinds.extend(NameKind::ALL),
            None => {
                let known: Vec<&str> = NameKind::ALL.into_iter().map(NameKind::name).collect();
                let known = known.join(", ");
                return Err(Failure::input(format!("--keep {}: expected {known} or all", word.shown())));
            }
        }
    }
    Ok(kinds)
}

/// What is about to be sent, and which names are replaced.
fn listed(run: &RunId, address: &Place, names: &Pseudonyms, plan: &Plan) -> String {
    let replaced = names.replaced();
    let mut text = format!("run {run} to {address}\n");
    if replaced.is_empty() {
        text.push_str("  no names to replace were found in it\n");
    } else {
        text.push_str("  these names are replaced:\n");
        let row = |(kind, name, pseudonym): &(NameKind, &str, String)| {
            [format!("    {kind}"), printable(name).into_owned(), pseudonym.clone()]
        };
        text.push_str(&output::columns(&replaced.iter().map(row).collect::<Vec<_>>()));
    }
    for what in of_the_users(plan) {
        text.push_str(&format!("  sent with all that it holds, passwords included: {what}\n"));
    }
    for (kind, name) in names.kept() {
        text.push_str(&format!("  sent as it is, since you keep {kind}: {}\n", name.shown()));
    }
    for (kind, name) in names.ordinary() {
        text.push_str(&format!(
            "  sent as it is, since it is short or a word of every record: {} ({kind})\n",
            name.shown()
        ));
    }
    text
}

/// What the user or somebody else wrote: nothing knows which secrets it holds.
fn of_the_users(plan: &Plan) -> Vec<String> {
    let mut what = Vec::new();
    for step in &plan.provision {
        let by = step.by.name();
        let mut text = format!("provisioning by {by}, file {} and what it printed", step.path.shown());
        if !step.args.is_empty() {
            text.push_str(", its arguments");
        }
        if !step.vars.is_empty() {
            let vars: Vec<String> = step.vars.keys().map(|name| name.shown().to_string()).collect();
            text.push_str(&format!(", its variables {}", vars.join(", ")));
        }
        what.push(text);
    }
    for target in &plan.targets {
        if let TargetKind::Created { driver, settings, .. } = &target.kind
            && !settings.is_empty()
        {
            let keys: Vec<String> = settings.keys().map(|name| name.shown().to_string()).collect();
            let (name, driver) = (target.name.shown(), driver.shown());
            what.push(format!("settings of machine {name} for driver {driver}: {}", keys.join(", ")));
        }
    }
    what
}

fn told(run: &RunId, address: &Place, pushed: &Pushed) -> String {
    let Pushed { manifest, sent_bytes, total_bytes, was_there } = pushed;
    if *was_there {
        return format!("{address} has run {run} already; nothing was sent\n  {manifest}\n");
    }
    let of = if sent_bytes == total_bytes { String::new() } else { format!(" of {}", size(*total_bytes)) };
    format!("{address} has run {run}: {}{of} were sent\n  {manifest}\n", size(*sent_bytes))
}

fn document(run: &RunId, address: &Place, names: &Pseudonyms, pushed: &Pushed) -> Result<String, Failure> {
    let kinds: Vec<&str> = names.kinds().into_iter().map(NameKind::name).collect();
    let document = serde_json::json!({
        "format": FORMAT,
        "run": run,
        "address": address.to_string(),
        "manifest": pushed.manifest.to_string(),
        "sent_bytes": pushed.sent_bytes,
        "total_bytes": pushed.total_bytes,
        "was_there": pushed.was_there,
        "replaced_kinds": kinds,
        "replaced_names": names.replaced().len(),
    });
    serde_json::to_string_pretty(&document).map_err(Failure::ours)
}

#[cfg(test)]
mod tests {
    use super::of_the_users;
    use record::plan::{Measure, Plan};
    use record::provision::{ProvisionStep, Provisioner};
    use record::target::{Target, TargetKind};

    #[test]
    fn what_the_user_wrote_is_named_before_it_travels() {
        let mut plan = Plan::new("x".to_owned(), Vec::new(), Measure::new(1.0, 0.1, 1));
        assert!(of_the_users(&plan).is_empty());
        plan.provision.push(ProvisionStep {
            by: Provisioner::Ansible,
            path: "site.yml".to_owned(),
            text: "x".to_owned(),
            args: Vec::new(),
            vars: [("token".to_owned(), "secret-7".to_owned())].into(),
            target: None,
            digest: "x".to_owned(),
        });
        let settings = [("password".to_owned(), "secret-8".into())].into_iter().collect();
        plan.targets.push(Target {
            name: "vm".to_owned(),
            kind: TargetKind::Created { driver: "ec2".to_owned(), settings, volumes: Vec::new() },
            address: None,
            ceiling: None,
            shares: Vec::new(),
            hosted_by: None,
        });
        let told = of_the_users(&plan).join("\n");
        for word in ["site.yml", "token", "vm", "ec2", "password"] {
            assert!(told.contains(word), "{word}: {told}");
        }
        assert!(!told.contains("secret-"), "{told}");
    }
}
