//! `diskproof push`, `diskproof pull` and `diskproof search`.

use clap::ValueHint;
use std::path::PathBuf;

/// The end of `diskproof push --help`.
pub(super) const PUSH_HELP: &str = "\
Examples:
  diskproof push latest oci://registry.example/results:nvme-990
  diskproof push striped@base oci://127.0.0.1:5000/results     the tag is the run's name
  diskproof push latest oci://registry.example/results:nvme-990 --keep hosts,serials --yes
  diskproof push latest s3://bucket/results/nvme-990
  diskproof push latest s3://bucket/results/                   below it, by the run's name

It sends the plan, the experiment, the machine, all records and the raw output of the engines, but no judgement: whoever pulls the run \
judges it anew. Names of hosts and users, serial numbers, WWNs, paths below /home and addresses are replaced by pseudonyms, and listed \
before anything is sent. A broken connection is taken up again; the run becomes visible when all of it has arrived.

Credentials are those of `docker login` or `podman login`; for S3, keys, region and endpoint are those of AWS's own tools. docs/how-to/share.md has more.";

/// The end of `diskproof pull --help`.
pub(super) const PULL_HELP: &str = "\
Examples:
  diskproof pull oci://registry.example/results:nvme-990
  diskproof pull oci://registry.example/results:nvme-990 --as theirs
  diskproof pull s3://bucket/results/nvme-990
  diskproof compare theirs latest
  diskproof pull oci://registry.example/results:nvme-990 --allowed-signers ~/.ssh/allowed_signers

The run is judged anew by this diskproof. It is stored with all its trials or not at all.";

/// The end of `diskproof search --help`.
pub(super) const SEARCH_HELP: &str = "\
Examples:
  diskproof search oci://registry.example/results
  diskproof search oci://registry.example/results --device 'Samsung*' --workload '*4k*'
  diskproof search oci://registry.example/results --device '*990*' --like latest
  diskproof search s3://bucket/results

It reads the manifest of each run and no records; `diskproof pull` fetches a run that fits. With --like, a run that differs from \
yours in device, stacks, workloads or virtualization is listed with the name of the difference.";

#[derive(Debug, clap::Args)]
pub(crate) struct Search {
    /// Where to search: oci://HOST[:PORT]/REPOSITORY or s3://BUCKET[/PREFIX]
    #[arg(value_name = "ADDRESS")]
    pub(crate) at: String,
    /// Only runs on such a device: its model, with * and ?
    #[arg(long, value_name = "PATTERN")]
    pub(crate) device: Option<String>,
    /// Only runs with such a stack
    #[arg(long, value_name = "PATTERN")]
    pub(crate) stack: Option<String>,
    /// Only runs with such a workload
    #[arg(long, value_name = "PATTERN")]
    pub(crate) workload: Option<String>,
    /// Say what differs from this run of yours
    #[arg(long, value_name = "RUN")]
    pub(crate) like: Option<String>,
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print one JSON document, format diskproof.search/1.0 (docs/formats.md)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Push {
    /// The run: its name, the beginning of it, `latest`, EXPERIMENT@last or EXPERIMENT@TAG
    pub(crate) run: String,
    /// Where to send it: oci://HOST[:PORT]/REPOSITORY[:TAG] or s3://BUCKET/PREFIX; a prefix that ends with / is a folder for runs
    #[arg(value_name = "ADDRESS")]
    pub(crate) to: String,
    /// Names to send as they are, with commas between them: hosts, serials, users, homes, addresses, or all
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    pub(crate) keep: Vec<String>,
    /// Sign the run by this ssh key; with a .pub file, the agent signs
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath)]
    pub(crate) sign: Option<PathBuf>,
    /// Send without asking; needed where there is no terminal
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Replace another run that has this tag or prefix
    #[arg(long)]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print what was done as one JSON document, format diskproof.push/1.0 (docs/formats.md)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Pull {
    /// Where it is: oci://HOST[:PORT]/REPOSITORY:TAG, or @sha256:DIGEST in place of the tag, or s3://BUCKET/PREFIX
    #[arg(value_name = "ADDRESS")]
    pub(crate) from: String,
    /// Store it under this name; default: the name that it has there
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Take only a run that somebody in this file has signed (ssh-keygen(1), ALLOWED SIGNERS); `none`: check no signature. Default: the
    /// setting allowed_signers
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) allowed_signers: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print what was done as one JSON document, format diskproof.pull/1.0 (docs/formats.md)
    #[arg(long)]
    pub(crate) json: bool,
}

/// How a place is spoken to.
#[derive(Debug, clap::Args)]
pub(crate) struct Place {
    /// Speak http with a server on another machine: everybody on the way can read and change what is sent
    #[arg(long)]
    pub(crate) plain_http: bool,
    /// The file with credentials, as `docker login` writes it, or for S3 as ~/.aws/credentials; default: the files of docker and podman, and
    /// of AWS
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) credentials: Option<PathBuf>,
}
