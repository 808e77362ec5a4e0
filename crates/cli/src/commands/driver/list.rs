//! `diskproof driver list`: the drivers that there are.

use super::places;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use driver::protocol::{Answer, Capabilities, Task};
use driver::{How, Places, call};

pub(super) fn list(json: bool, settings: &Settings) -> Result<Exit, Failure> {
    let places = places(settings)?;
    let names = places.built_in.iter().cloned().chain(places.on_path());
    let all: Vec<(String, Result<Capabilities, String>)> =
        names.map(|name| (name.clone(), ask(&places, &name))).collect();
    if json {
        let one = |(name, said): &(String, Result<Capabilities, String>)| match said {
            Ok(capabilities) => {
                serde_json::json!({ "name": name, "built_in": places.built_in.contains(name), "capabilities": capabilities })
            }
            Err(error) => {
                serde_json::json!({ "name": name, "built_in": places.built_in.contains(name), "error": error })
            }
        };
        let all: Vec<_> = all.iter().map(one).collect();
        output::json(&serde_json::to_string_pretty(&all).map_err(Failure::ours)?)?;
        return Ok(Exit::Fine);
    }
    if all.is_empty() {
        output::aside(
            "there are no drivers: none is built in, and no directory of PATH has a diskproof-driver-NAME",
        );
    }
    let row = |(name, said): &(String, Result<Capabilities, String>)| match said {
        Ok(capabilities) => [name.clone(), capabilities.about.clone()],
        Err(error) => [name.clone(), format!("can't be used: {error}")],
    };
    let rows: Vec<[String; 2]> = all.iter().map(row).collect();
    output::answer(&output::columns(&rows))?;
    Ok(Exit::Fine)
}

/// What a driver says about itself.
fn ask(places: &Places, name: &str) -> Result<Capabilities, String> {
    let program = places.find(name).map_err(|error| record::printable::chain(&error))?;
    match call(&program, Task::Capabilities, &How::default(), &mut |_| {}) {
        Ok(Answer::Capabilities(capabilities)) => Ok(capabilities),
        Ok(_) => Err("it answered another task".to_owned()),
        Err(error) => Err(record::printable::chain(&error)),
    }
}
