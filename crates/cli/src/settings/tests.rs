use super::keys::{Color, FromText as _, Progress, Sudo};
use super::{Origin, Settings, SettingsError, Surroundings, Typed};
use crate::args::Global;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A machine with a system file, a user's file, an environment and a command line, each empty at first.
struct Machine {
    dir: TempDir,
    environment: Vec<(String, String)>,
    global: Global,
    json: bool,
    copy_to: Option<String>,
    plain_http: bool,
    root: bool,
}

impl Machine {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().to_string_lossy().into_owned();
        let environment = vec![("HOME".to_owned(), home)];
        Self {
            dir,
            environment,
            global: Global::default(),
            json: false,
            copy_to: None,
            plain_http: false,
            root: false,
        }
    }

    fn system_file(&self) -> PathBuf {
        self.dir.path().join("etc.yaml")
    }

    fn user_file(&self) -> PathBuf {
        self.dir.path().join(".config/diskproof/config.yaml")
    }

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn set(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    fn resolve(&self) -> Result<Settings, SettingsError> {
        let variable = |name: &str| {
            self.environment.iter().rfind(|(n, _)| n == name).map(|(_, value)| OsString::from(value))
        };
        let surroundings = Surroundings {
            variable: &variable,
            root: self.root,
            system_file: &self.system_file(),
            here: self.dir.path(),
        };
        let verb = Typed { json: self.json, copy_to: self.copy_to.clone(), plain_http: self.plain_http };
        Settings::resolve(&self.global, &verb, &surroundings)
    }

    fn complaint(&self) -> String {
        let text = self.resolve().unwrap_err().to_string();
        text.replace(&self.dir.path().to_string_lossy().into_owned(), "DIR")
    }
}

#[test]
fn each_place_overrules_the_one_before() {
    let mut machine = Machine::new();
    let settings = machine.resolve().unwrap();
    assert_eq!((settings.color.value, settings.color.origin), (Color::Auto, Origin::Default));

    Machine::write(&machine.system_file(), "# for all\ncolor: always\nsudo: never\n");
    let settings = machine.resolve().unwrap();
    let origin = Origin::File { path: machine.system_file(), line: 2 };
    assert_eq!((settings.color.value, settings.color.origin), (Color::Always, origin));

    Machine::write(&machine.user_file(), "color: never\n");
    let settings = machine.resolve().unwrap();
    let origin = Origin::File { path: machine.user_file(), line: 1 };
    assert_eq!((settings.color.value, settings.color.origin), (Color::Never, origin));
    assert_eq!(
        settings.sudo.value,
        Sudo::Never,
        "the user's file says nothing of it, so the system's stands"
    );

    machine.set("DISKPROOF_COLOR", "auto");
    let settings = machine.resolve().unwrap();
    assert_eq!(settings.color.origin, Origin::Environment("DISKPROOF_COLOR"));

    machine.global.color = Some("always".to_owned());
    let settings = machine.resolve().unwrap();
    let origin = Origin::CommandLine("--color");
    assert_eq!((settings.color.value, settings.color.origin), (Color::Always, origin));
}

#[test]
fn a_named_file_is_read_instead_of_the_usual_ones() {
    let mut machine = Machine::new();
    Machine::write(&machine.system_file(), "color: always\n");
    Machine::write(&machine.dir.path().join("mine.yaml"), "sudo: never\n");
    machine.set("DISKPROOF_CONFIG", "/nowhere/at/all.yaml");
    let way_out = "name another one by --config";
    assert_eq!(
        machine.complaint(),
        format!("can't read the configuration file /nowhere/at/all.yaml; {way_out}")
    );
    machine.global.config = Some(PathBuf::from("mine.yaml"));
    let settings = machine.resolve().unwrap();
    assert_eq!((settings.color.value, settings.sudo.value), (Color::Auto, Sudo::Never));
}

#[test]
fn quiet_and_json_are_progress() {
    let mut machine = Machine::new();
    machine.set("DISKPROOF_PROGRESS", "bar");
    assert_eq!(machine.resolve().unwrap().progress.value, Progress::Live, "the earlier name");
    machine.global.quiet = true;
    let progress = machine.resolve().unwrap().progress;
    assert_eq!((progress.value, progress.origin), (Progress::None, Origin::CommandLine("--quiet")));
    machine.json = true;
    assert_eq!(machine.resolve().unwrap().progress.value, Progress::Json);
}

#[test]
fn paths_have_their_documented_defaults() {
    let mut machine = Machine::new();
    let home = machine.dir.path().to_path_buf();
    let settings = machine.resolve().unwrap();
    assert_eq!(settings.store.value, home.join(".local/share/diskproof/diskproof.db"));
    assert_eq!(settings.state.value, home.join(".local/state/diskproof"));
    machine.set("XDG_DATA_HOME", "/data");
    machine.set("XDG_STATE_HOME", "relative/is/ignored");
    let settings = machine.resolve().unwrap();
    assert_eq!(settings.store.value, Path::new("/data/diskproof/diskproof.db"));
    assert_eq!(settings.state.value, home.join(".local/state/diskproof"));
    machine.root = true;
    assert_eq!(machine.resolve().unwrap().state.value, Path::new("/var/lib/diskproof"));
}

#[test]
fn without_a_home_there_is_an_error_that_says_what_to_do() {
    let mut machine = Machine::new();
    machine.environment.clear();
    assert_eq!(
        machine.complaint(),
        "neither HOME nor XDG_DATA_HOME is set, so there is no place for the database that keeps results; use --store"
    );
    machine.root = true;
    assert_eq!(machine.resolve().unwrap().store.value, Path::new("/var/lib/diskproof/diskproof.db"));
}

#[test]
fn mistakes_are_named_with_their_place() {
    let cases = [
        ("stor: /x\n", "DIR/etc.yaml:1: unknown setting `stor`; did you mean `store`?"),
        (
            "wallpaper: blue\n",
            "DIR/etc.yaml:1: unknown setting `wallpaper`; known are store, state, color, progress, sudo, ssh_config, allowed_signers, copy_to, plain_http",
        ),
        (
            "\ncolor: green\n",
            "DIR/etc.yaml:2: `green` is not a value for `color`; expected auto, always, never",
        ),
        (
            "store: here.db\n",
            "DIR/etc.yaml:1: `here.db` is not a value for `store`; expected an absolute path",
        ),
    ];
    for (text, expected) in cases {
        let machine = Machine::new();
        Machine::write(&machine.system_file(), text);
        assert_eq!(machine.complaint(), expected, "{text}");
    }
}

#[test]
fn files_that_are_no_mapping_are_refused_with_their_name() {
    for text in
        ["- color\n", "color: [auto]\n", "color: auto\ncolor: never\n", "\u{0}", "color: auto: never\n"]
    {
        let machine = Machine::new();
        Machine::write(&machine.system_file(), text);
        let complaint = machine.complaint();
        assert!(complaint.starts_with("DIR/etc.yaml: "), "{text:?}: {complaint}");
    }
    let machine = Machine::new();
    Machine::write(&machine.system_file(), &"# long\n".repeat(20_000));
    assert!(matches!(machine.resolve(), Err(SettingsError::Unreadable { .. })));
}

#[test]
fn a_wrong_value_is_named_also_where_it_is_overruled() {
    let mut machine = Machine::new();
    machine.set("DISKPROOF_SUDO", "please");
    machine.global.sudo = Some("never".to_owned());
    assert_eq!(
        machine.complaint(),
        "environment DISKPROOF_SUDO: `please` is not a value for `sudo`; expected auto, never"
    );
}

#[test]
fn an_empty_file_says_nothing() {
    let machine = Machine::new();
    Machine::write(&machine.system_file(), "# nothing yet\n\n");
    assert_eq!(machine.resolve().unwrap().color.origin, Origin::Default);
}

#[test]
fn every_setting_is_documented() {
    let document = include_str!("../../../../docs/settings.md");
    for key in super::KEYS {
        for word in [key.name, key.variable, key.flag] {
            assert!(document.contains(&format!("`{word}`")), "docs/settings.md lacks {word}");
        }
    }
}

#[test]
fn http_without_encryption_is_allowed_by_the_environment_and_by_the_flag_only() {
    let mut machine = Machine::new();
    assert!(!machine.resolve().unwrap().allows_plain_http());
    machine.set("DISKPROOF_PLAIN_HTTP", "allow");
    assert!(machine.resolve().unwrap().allows_plain_http());
    machine.set("DISKPROOF_PLAIN_HTTP", "never");
    assert!(!machine.resolve().unwrap().allows_plain_http());
    machine.plain_http = true;
    let settings = machine.resolve().unwrap();
    assert!(settings.allows_plain_http());
    assert_eq!(settings.plain_http.origin, Origin::CommandLine("--plain-http"));
    machine.set("DISKPROOF_PLAIN_HTTP", "1");
    assert!(machine.complaint().contains("`1` is not a value for `plain_http`; expected allow, never"));
}

#[test]
fn a_place_for_copies_is_an_address_or_none() {
    let mut machine = Machine::new();
    assert_eq!(machine.resolve().unwrap().copy_to.value.0, None);
    machine.set("DISKPROOF_COPY_TO", "file:///srv/copies");
    let settings = machine.resolve().unwrap();
    assert_eq!(settings.copy_to.value.to_text(), "file:///srv/copies");
    machine.copy_to = Some("none".to_owned());
    let settings = machine.resolve().unwrap();
    assert_eq!((settings.copy_to.value.0, settings.copy_to.origin), (None, Origin::CommandLine("--copy-to")));
    machine.copy_to = Some("/srv/copies".to_owned());
    assert!(machine.complaint().contains("`/srv/copies` is not a value for `copy_to`"));
}
