//! What the driver is and takes.

use super::settings::{MACHINE, Row, VOLUME};
use driver::protocol::{Capabilities, Setting, VERSION};
use std::collections::BTreeMap;

/// Describes the driver.
pub(super) fn capabilities() -> Capabilities {
    Capabilities {
        protocol: VERSION.to_owned(),
        name: "libvirt".to_owned(),
        about: "Guests of libvirt on this and other machines, with files of the host as volumes".to_owned(),
        settings: table(&MACHINE),
        volume_settings: table(&VOLUME),
        secrets: Vec::new(),
        enforces_deadline: false,
    }
}

fn table(rows: &[Row]) -> BTreeMap<String, Setting> {
    let setting = |row: &Row| Setting {
        kind: row.kind,
        about: row.about.to_owned(),
        required: row.required,
        default: row.default.map(|default| default()),
        environment: Vec::new(),
        from_metadata: false,
        metadata: None,
        renamed: Vec::new(),
    };
    rows.iter().map(|row| (row.key.to_owned(), setting(row))).collect()
}
