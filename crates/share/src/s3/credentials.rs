//! Credentials for S3. diskproof stores and prints none.

use super::settings::{Files, Settings};
use crate::error::ShareError;
use host::{CommandFailure, Invocation, LocalRunner, Runner as _, Tool};
use record::printable::printable;
use serde::Deserialize;
use std::time::Duration;

/// A program may ask a person, or a service of the machine's provider.
const PROGRAM_LIMIT: Duration = Duration::from_secs(60);
/// Settings of a profile that only `aws` turns into keys.
const FOR_AWS: [&str; 5] =
    ["role_arn", "sso_session", "sso_start_url", "web_identity_token_file", "login_session"];

/// A key pair, perhaps with the token of a session.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) id: String,
    pub(crate) secret: String,
    pub(crate) token: Option<String>,
}

/// What `credential_process` and `aws configure export-credentials` print.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Printed {
    version: u32,
    access_key_id: String,
    secret_access_key: String,
    session_token: Option<String>,
}

/// Returns the keys of the chosen profile; `None`: nothing gives any, and requests go unsigned.
pub(crate) fn find(settings: &Settings) -> Result<Option<Keys>, ShareError> {
    if let Some(id) = settings.variable("AWS_ACCESS_KEY_ID") {
        let secret = settings
            .variable("AWS_SECRET_ACCESS_KEY")
            .ok_or_else(|| cannot("AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY isn't".to_owned()))?;
        let token = settings.variable("AWS_SESSION_TOKEN").map(str::to_owned);
        return checked(Keys { id: id.to_owned(), secret: secret.to_owned(), token }).map(Some);
    }
    let files = settings.files()?;
    let profile = settings.profile();
    let is_for_aws = FOR_AWS.iter().any(|name| files.of_profile(profile, name).is_some());
    if !is_for_aws {
        if let Some(keys) = of_files(&files, profile)? {
            return checked(keys).map(Some);
        }
        if let Some(command) = files.of_profile(profile, "credential_process") {
            return of_program(command, profile).and_then(checked).map(Some);
        }
    }
    of_aws(settings, is_for_aws)?.map(checked).transpose()
}

fn cannot(why: String) -> ShareError {
    ShareError::Credentials { why }
}

/// Keys travel in headers: a line break in them would be one more header.
fn checked(keys: Keys) -> Result<Keys, ShareError> {
    let token = keys.token.as_deref().unwrap_or_default();
    if [keys.id.as_str(), &keys.secret, token].iter().all(|text| text.bytes().all(|b| b.is_ascii_graphic())) {
        return Ok(keys);
    }
    Err(cannot("a key of AWS has characters that keys don't have".to_owned()))
}

/// Both files may hold keys; `credentials` comes first.
fn of_files(files: &Files, profile: &str) -> Result<Option<Keys>, ShareError> {
    let in_credentials = |name: &str| files.credentials.get(profile, name).map(str::to_owned);
    let in_config = |name: &str| files.of_profile(profile, name).map(str::to_owned);
    for (file, get) in
        [("credentials", &in_credentials as &dyn Fn(&str) -> Option<String>), ("config", &in_config)]
    {
        match (get("aws_access_key_id"), get("aws_secret_access_key")) {
            (Some(id), Some(secret)) => {
                return Ok(Some(Keys { id, secret, token: get("aws_session_token") }));
            }
            (None, None) => {}
            _ => {
                let profile = printable(profile);
                return Err(cannot(format!(
                    "profile {profile} in the file {file} of AWS has only one of aws_access_key_id and aws_secret_access_key"
                )));
            }
        }
    }
    Ok(None)
}

/// Runs `credential_process`: a program and its arguments, without a shell.
fn of_program(command: &str, profile: &str) -> Result<Keys, ShareError> {
    let named = || format!("credential_process of profile {}", printable(profile));
    let words =
        words(command).ok_or_else(|| cannot(format!("{}: a quotation mark isn't closed", named())))?;
    let Some((program, arguments)) = words.split_first() else {
        return Err(cannot(format!("{} names no program", named())));
    };
    let call = Invocation::program(program).args(arguments).timeout(PROGRAM_LIMIT);
    match LocalRunner.run(&call) {
        Ok(output) => read(&output.stdout)
            .ok_or_else(|| cannot(format!("{} doesn't print what such programs print (Version 1)", named()))),
        // Its output may hold a secret.
        Err(CommandFailure::Failed { status, .. }) => {
            Err(cannot(format!("{} ended with status {status}", named())))
        }
        Err(error) => Err(cannot(format!("{}: {error}", named()))),
    }
}

/// Asks `aws`, which knows single sign-on, roles and the keys of a provider's machine. `needed`: the profile says that `aws` has keys.
fn of_aws(settings: &Settings, needed: bool) -> Result<Option<Keys>, ShareError> {
    let mut call = Invocation::new(Tool::Aws)
        .args(["configure", "export-credentials", "--format", "process"])
        .timeout(PROGRAM_LIMIT)
        .env("AWS_PAGER", "");
    for (name, value) in &settings.variables {
        call = call.env(name, value);
    }
    if let Some(home) = &settings.home {
        call = call.env("HOME", home);
    }
    match LocalRunner.run(&call) {
        Ok(output) => match read(&output.stdout) {
            Some(keys) => Ok(Some(keys)),
            None => Err(cannot("`aws configure export-credentials` prints no keys".to_owned())),
        },
        Err(_) if !needed => Ok(None),
        Err(CommandFailure::Failed { stderr, .. }) => {
            let said = stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
            let said = printable(said.trim()).into_owned();
            Err(cannot(format!("`aws configure export-credentials` says: {said}")))
        }
        Err(error) => Err(cannot(format!(
            "the profile {} needs the program `aws`: {error}",
            printable(settings.profile())
        ))),
    }
}

fn read(text: &str) -> Option<Keys> {
    let printed: Printed = serde_json::from_str(text).ok()?;
    let token = printed.session_token.filter(|token| !token.is_empty());
    (printed.version == 1).then_some(Keys {
        id: printed.access_key_id,
        secret: printed.secret_access_key,
        token,
    })
}

/// Splits a command into words, as shells do with quotation marks and backslashes.
fn words(command: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut characters = command.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(mark), _) if c == mark => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '\\') => word.get_or_insert_default().push(characters.next()?),
            (Some('"'), '\\') => {
                let next = characters.next()?;
                let word = word.get_or_insert_default();
                word.extend((!matches!(next, '"' | '\\')).then_some('\\').into_iter().chain([next]));
            }
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::{Keys, Settings, find, words};
    use std::fs;
    use std::path::Path;

    fn settings(home: &Path, variables: &[(&str, &str)]) -> Settings {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Settings { variables: variables.collect(), home: Some(home.to_path_buf()) }
    }

    fn keys(id: &str, secret: &str, token: Option<&str>) -> Keys {
        Keys { id: id.to_owned(), secret: secret.to_owned(), token: token.map(str::to_owned) }
    }

    fn home(config: &str, credentials: &str) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join(".aws")).unwrap();
        fs::write(home.path().join(".aws/config"), config).unwrap();
        fs::write(home.path().join(".aws/credentials"), credentials).unwrap();
        home
    }

    fn found(settings: &Settings) -> Keys {
        find(settings).unwrap_or_else(|error| panic!("{error}")).unwrap()
    }

    fn refused(settings: &Settings) -> String {
        find(settings).err().expect("it is refused").to_string()
    }

    #[test]
    fn variables_come_first_then_the_files_of_the_chosen_profile() {
        let home = home(
            "[profile lab]\naws_access_key_id = C\naws_secret_access_key = c\n[profile both]\naws_access_key_id = X\naws_secret_access_key = x\n",
            "[default]\naws_access_key_id = D\naws_secret_access_key = d\n[both]\naws_access_key_id = B\naws_secret_access_key = b\naws_session_token = t\n",
        );
        let with = |variables: &[(&str, &str)]| found(&settings(home.path(), variables));
        assert!(with(&[]) == keys("D", "d", None));
        assert!(with(&[("AWS_PROFILE", "lab")]) == keys("C", "c", None));
        assert!(with(&[("AWS_PROFILE", "both")]) == keys("B", "b", Some("t")));
        let own = [("AWS_PROFILE", "both"), ("AWS_ACCESS_KEY_ID", "E"), ("AWS_SECRET_ACCESS_KEY", "e")];
        assert!(with(&own) == keys("E", "e", None));
        let elsewhere = home.path().join("other");
        fs::write(&elsewhere, "[default]\naws_access_key_id = O\naws_secret_access_key = o\n").unwrap();
        assert!(
            with(&[("AWS_SHARED_CREDENTIALS_FILE", elsewhere.to_str().unwrap())]) == keys("O", "o", None)
        );
    }

    #[test]
    fn a_program_gives_keys_and_what_it_prints_is_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("give keys");
        let write = |text: &str| testkit::script(&program, &format!("#!/bin/sh\n{text}\n"));
        let home =
            home(&format!("[default]\ncredential_process = \"{}\" 'a b'\n", program.to_str().unwrap()), "");
        write(
            r#"[ "$1" = "a b" ] && echo '{"Version": 1, "AccessKeyId": "P", "SecretAccessKey": "p", "SessionToken": "t"}'"#,
        );
        assert!(found(&settings(home.path(), &[])) == keys("P", "p", Some("t")));
        for text in [
            "echo secret-7; exit 3",
            "echo secret-7",
            "echo '{\"Version\": 2, \"AccessKeyId\": \"secret-7\", \"SecretAccessKey\": \"x\"}'",
        ] {
            write(text);
            let said = refused(&settings(home.path(), &[]));
            assert!(said.contains("credential_process") && !said.contains("secret-7"), "{said}");
        }
    }

    #[test]
    fn half_a_pair_and_an_unknown_profile_are_errors() {
        let home = home(
            "",
            "[half]\naws_access_key_id = A\n[odd]\naws_access_key_id = A B\naws_secret_access_key = x\n",
        );
        let with = |name: &str, value: &str| refused(&settings(home.path(), &[(name, value)]));
        assert!(with("AWS_PROFILE", "half").contains("only one of"));
        assert!(with("AWS_PROFILE", "nobody").contains("`nobody`"));
        assert!(with("AWS_ACCESS_KEY_ID", "A").contains("AWS_SECRET_ACCESS_KEY"));
        assert!(with("AWS_PROFILE", "odd").contains("characters"));
        fs::write(home.path().join(".aws/credentials"), "[a]\nsecret-7\n").unwrap();
        let said = with("AWS_PROFILE", "a");
        assert!(said.contains("line 2") && !said.contains("secret-7"), "{said}");
    }

    #[test]
    fn commands_are_split_as_shells_do() {
        let split = |text: &str| words(text).map(|words| words.join("|"));
        assert_eq!(
            split(r#"/a/b --x "c d" 'e"f' g\ h "i\"j\k" "" "#).as_deref(),
            Some(r#"/a/b|--x|c d|e"f|g h|i"j\k|"#)
        );
        assert_eq!(split("a 'b"), None);
        assert_eq!(split("").as_deref(), Some(""));
    }
}
