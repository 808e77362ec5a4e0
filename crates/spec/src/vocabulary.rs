//! All keys of an experiment file, with their meaning. The reader, the "did you mean" and the JSON Schema use the same tables, so
//! they can't disagree.

mod asked;
mod ceiling;
mod created;
mod find;
mod knobs;
mod lab_disk;
mod layer_name;
mod limits;
mod machines;
mod nfs;
mod prices;
mod shape;
mod store;
mod target;
pub(crate) mod volume_manager;
mod workload;
mod zfs;

pub(crate) use asked::{CONTRAST, EXPECTATION};
pub(crate) use ceiling::CEILING;
pub(crate) use created::{CREATED, CREATED_VOLUME};
pub(crate) use find::{FIND, FIND_BY, FIND_LIMIT};
pub(crate) use knobs::KNOBS;
pub(crate) use lab_disk::{AIOS, BURST, BUSES, DISK_CACHES, FORMATS, LAB_DISK, LIMIT_CHANGE};
pub(crate) use layer_name::LayerName;
use limits::{BPS, IOPS, READ_BPS, READ_IOPS, WRITE_BPS, WRITE_IOPS};
pub(crate) use machines::{MACHINE, MACHINES};
pub(crate) use nfs::NFS;
pub(crate) use prices::{ALLOWANCE, BILLED_BY, DISCOUNT, OFFER, PRICES, TIER, USAGE, VOLUME_PRICE};
pub(crate) use shape::{Shape, Table};
use shape::{key, needed};
pub(crate) use store::STORE;
pub(crate) use target::{HOSTED_BY, TARGET};
use volume_manager::{BCACHE, LVM, MD};
pub(crate) use workload::{
    BONNIE, CACHES, COPIERS, COPIES, COPY_SYNC, ENGINES, LAYOUTS, ORDERS, PRESERVE, WORKLOAD,
};
pub(crate) use zfs::{DEVICES, VDEVS, ZFS};

/// The whole file.
pub(crate) static EXPERIMENT: Table = Table {
    what: "an experiment",
    keys: &[
        needed("experiment", Shape::Text, "Name of the experiment: a-z 0-9 . _ -"),
        key("question", Shape::Text, "What the experiment is to find out, in a sentence"),
        key(
            "parameters",
            Shape::MapOf(&Shape::Either(&[Shape::Map(&PARAMETER), Shape::Text, Shape::ListOf(&Shape::Text)])),
            "Values that may be given with --set name=value",
        ),
        key(
            "seed",
            Shape::Integer,
            "Seed of the order of the cells and of all random offsets and data; drawn from the clock if 0 or not said",
        ),
        key(
            "targets",
            Shape::MapOf(&Shape::Either(&[
                Shape::Choice(&["local"]),
                Shape::Map(&TARGET),
                Shape::Map(&CREATED),
            ])),
            "Machines the trials run on; default: this one. Every stack is built on every target that has its volumes",
        ),
        key(
            "provision",
            Shape::ListOf(&Shape::Map(&PROVISION)),
            "What is done on the targets before anything is built; it is not undone",
        ),
        key(
            "volumes",
            Shape::MapOf(&Shape::Map(&VOLUME)),
            "Where data may live, besides the volumes of created targets",
        ),
        needed(
            "stacks",
            Shape::MapOf(&Shape::Map(&STACK)),
            "What is built on the volumes; {factor} in a name is filled in",
        ),
        needed(
            "workloads",
            Shape::MapOf(&Shape::Map(&WORKLOAD)),
            "The loads that every stack gets; {factor} in a name is filled in",
        ),
        key(
            "only",
            Shape::ListOf(&Shape::MapOf(&Shape::Levels)),
            "Keep only the cells that match one of these",
        ),
        key(
            "exclude",
            Shape::ListOf(&Shape::MapOf(&Shape::Levels)),
            "Leave out the cells that match one of these",
        ),
        key("measure", Shape::Map(&MEASURE), "How long, how often, how sure"),
        key("currency", Shape::Text, "Name of the money of prices and budgets, e.g. EUR"),
        key(
            "prices",
            Shape::Either(&[Shape::Text, Shape::Map(&PRICES)]),
            "A price list, or a file with one: offers that the volumes' prices name",
        ),
        key(
            "derive",
            Shape::MapOf(&Shape::Text),
            "Metrics made of others, e.g. { iops_per_eur: iops / price_per_month }",
        ),
        key(
            "contrast",
            Shape::MapOf(&Shape::Map(&CONTRAST)),
            "Ratios of groups of cells, e.g. { nfs: { of: iops, a: { stack: nfs }, b: { stack: local } } }",
        ),
        key("expect", Shape::ListOf(&Shape::Map(&EXPECTATION)), "What the results should be"),
        key("store", Shape::Map(&STORE), "Where results go besides the results file"),
    ],
    instead: &[
        ("name", "write `experiment: NAME`"),
        ("title", "write `experiment: NAME` and `question: ...`"),
        ("description", "write `question: ...`"),
        ("jobs", "write `workloads:`"),
        ("disks", "disks belong to a volume: `volumes: { vol: { disks: [...] } }`"),
        ("rounds", "write `measure: { rounds: ... }`"),
        ("include", "write `only:`"),
        ("metrics", "write `derive:`"),
        ("price", "a price stands with its volume: `volumes: { vol: { price: 8/month } }`"),
        ("target", "write `targets: { NAME: { ssh: user@host } }`"),
        ("hosts", "write `targets: { NAME: { ssh: user@host } }`"),
    ],
};

/// One parameter.
pub(crate) static PARAMETER: Table = Table {
    what: "a parameter",
    keys: &[
        key(
            "default",
            Shape::Either(&[Shape::Text, Shape::ListOf(&Shape::Text)]),
            "Value when --set does not give one; may refer to other parameters. Without it the parameter is required",
        ),
        key("help", Shape::Text, "One line that is shown when the value is asked for"),
        key("type", Shape::Choice(PARAMETER_TYPES), "What the value must be (default: text)"),
    ],
    instead: &[
        ("value", "write `default`"),
        ("description", "write `help`"),
        ("required", "a parameter without `default` is required"),
    ],
};

/// A step of provisioning.
pub(crate) static PROVISION: Table = Table {
    what: "a step of `provision`",
    keys: &[
        key(
            "shell",
            Shape::Text,
            "A script, beside the experiment; it says `changed=N` in a line of its own at the end",
        ),
        key(
            "ansible",
            Shape::Text,
            "A playbook, beside the experiment; ansible-playbook runs it on the target for `localhost`",
        ),
        key("puppet", Shape::Text, "A manifest, beside the experiment; `puppet apply` on the target"),
        key("args", Shape::Texts, "Arguments of the script"),
        key("vars", Shape::MapOf(&Shape::Text), "Variables of the playbook, facts of the manifest"),
        key("target", Shape::Text, "The only target it is for (default: all)"),
    ],
    instead: &[
        ("script", "write `shell: FILE`"),
        ("playbook", "write `ansible: FILE`"),
        ("manifest", "write `puppet: FILE`"),
        ("extra_vars", "write `vars: { NAME: VALUE }`"),
        ("facts", "write `vars: { NAME: VALUE }`"),
        ("hosts", "write `target: NAME`, one of `targets`"),
    ],
};

/// Types of parameters.
pub(crate) static PARAMETER_TYPES: &[&str] =
    &["text", "int", "number", "size", "duration", "percent", "list"];

/// One volume, or several alike.
pub(crate) static VOLUME: Table = Table {
    what: "a volume",
    keys: &[
        key("count", Shape::Integer, "How many of them: vol[0], vol[1], ... (emulated volumes only)"),
        key("emulate", Shape::Map(&EMULATE), "Loop devices on fully written files, limited by a cgroup"),
        key("directory", Shape::Text, "An existing directory; diskproof touches nothing outside it"),
        key(
            "disks",
            Shape::Texts,
            "Real disks, by their name in /dev/disk/by-id, claimed beforehand, or disks of a lab guest. Their content is lost",
        ),
        key(
            "shuffle",
            Shape::Switch,
            "1: draw anew in each round which of these volumes is vol[0], which is vol[1], ..., so that one slow volume isn't taken for an effect of the stack",
        ),
        key("target", Shape::Text, "The only target that has it; default: every target has one"),
        key(
            "price",
            Shape::Either(&[Shape::Text, Shape::Map(&VOLUME_PRICE)]),
            "What each of them costs: 8/month, 0.011/hour, also /day and /year; or the name of an offer of `prices`",
        ),
    ],
    instead: &[
        (
            "device",
            "write `disks: [ID]` with the disk's name in /dev/disk/by-id (`diskproof devices` lists them)",
        ),
        ("disk", "write `disks: [ID]`"),
        ("dir", "write `directory`"),
        ("path", "write `directory`"),
        ("loop", "write `emulate: { size: ... }`"),
        ("size", "write `emulate: { size: ... }`"),
        ("cost", "write `price: 8/month`"),
        ("currency", "`currency` stands at the top of the file"),
    ],
};

/// An emulated volume.
pub(crate) static EMULATE: Table = Table {
    what: "`emulate`",
    keys: &[
        needed("size", Shape::Size, "Size of the volume; that much is written to the backing file"),
        IOPS,
        READ_IOPS,
        WRITE_IOPS,
        BPS,
        READ_BPS,
        WRITE_BPS,
    ],
    instead: &[
        ("bw", "write `bps`"),
        ("bandwidth", "write `bps`"),
        ("throughput", "write `bps`"),
        ("riops", "write `read_iops`"),
        ("wiops", "write `write_iops`"),
        ("rbps", "write `read_bps`"),
        ("wbps", "write `write_bps`"),
        ("count", "`count` stands beside `emulate`, not in it"),
    ],
};

/// One stack.
pub(crate) static STACK: Table = Table {
    what: "a stack",
    keys: &[
        key("with", Shape::MapOf(&Shape::Levels), "Factors and their levels"),
        key("on", Shape::Texts, "Volumes under the first layer: vol, vol[0], vol[0..3], vol[..n]"),
        key(
            "layers",
            Shape::ListOf(&Shape::Either(&[Shape::Choice(LAYERS), Shape::Map(&LAYER)])),
            "Layers from the bottom up; empty: the raw device or the existing directory itself",
        ),
        key(
            "rebuild",
            Shape::Choice(REBUILDS),
            "How often it is built: for every trial, or once for the whole run, so that caches warm over the rounds",
        ),
    ],
    instead: &[
        ("keep", "write `rebuild: run`"),
        ("persist", "write `rebuild: run`"),
        ("volumes", "write `on`"),
        ("volume", "write `on`"),
        ("layer", "write `layers: [...]`"),
        ("factors", "write `with`"),
        ("matrix", "write `with`"),
    ],
};

/// How often a stack is built.
pub(crate) static REBUILDS: &[&str] = &["trial", "run"];

/// Names of layers.
pub(crate) static LAYERS: &[&str] = &LayerName::NAMES;

/// One layer: a map with one of these keys.
pub(crate) static LAYER: Table = Table {
    what: "a layer",
    keys: &[
        key(
            "raw",
            Shape::Either(&[Shape::Map(&RAW), Shape::Empty]),
            "Nothing: the block device itself, or the existing directory",
        ),
        key("ext3", Shape::Either(&[Shape::Map(&FILESYSTEM), Shape::Empty]), "ext3"),
        key("ext4", Shape::Either(&[Shape::Map(&FILESYSTEM), Shape::Empty]), "ext4"),
        key("xfs", Shape::Either(&[Shape::Map(&FILESYSTEM), Shape::Empty]), "XFS"),
        key("btrfs", Shape::Either(&[Shape::Map(&BTRFS), Shape::Empty]), "btrfs over one or more devices"),
        key("lvm", Shape::Either(&[Shape::Map(&LVM), Shape::Empty]), "A logical volume, cached or not"),
        key("md", Shape::Map(&MD), "An md array"),
        key(
            "luks",
            Shape::Either(&[Shape::Map(&LUKS), Shape::Empty]),
            "An encrypted device: dm-crypt with LUKS2",
        ),
        key("bcache", Shape::Map(&BCACHE), "A device with a faster one as its cache"),
        key("zfs", Shape::Either(&[Shape::Map(&ZFS), Shape::Empty]), "A ZFS pool and a dataset in it"),
        key(
            "nfs",
            Shape::Either(&[Shape::Map(&NFS), Shape::Empty]),
            "What is below, exported by this machine's NFS server and mounted from it",
        ),
        key("command", Shape::Map(&COMMAND), "Your own programs"),
        key(
            "knobs",
            Shape::Map(&KNOBS),
            "Settings of the kernel while the stack exists; undo puts them back",
        ),
    ],
    instead: &[
        ("lvm2", "write `lvm`"),
        ("lvmcache", "write `lvm: { cache: { on: ... } }`"),
        ("mdadm", "write `md`"),
        ("crypt", "write `luks`"),
        ("dmcrypt", "write `luks`"),
        ("luks2", "write `luks`"),
        ("make-bcache", "write `bcache: { cache: ... }`"),
        ("bcachefs", "not built in; use `command` with bcachefs format and mount"),
        ("raid", "write `md: { level: ... }` or `lvm: { raid: ... }`"),
        ("zpool", "write `zfs`"),
        ("openzfs", "write `zfs`"),
        ("nfs3", "write `nfs: { version: 3 }`"),
        ("nfs4", "write `nfs: { version: 4 }`"),
        ("ext2", "not built in; use `command` with mkfs.ext2 and mount"),
        ("sysctl", "write `knobs: { dirty_ratio: 10 }`"),
        ("scheduler", "write `knobs: { scheduler: none }`"),
        ("filesystem", "name it: `ext4`, `xfs`, `btrfs`"),
        ("mount", "a file-system layer mounts itself; options go into `mount_options`"),
    ],
};

/// An encrypted device.
pub(crate) static LUKS: Table = Table {
    what: "`luks`",
    keys: &[
        key("on", Shape::Texts, "The volume; only in the first layer"),
        key("cipher", Shape::Text, "As dm-crypt names it, of a-z 0-9 : _ -; aes-xts-plain64 if not said"),
        key("key_size", Shape::Integer, "Bits of the volume key; if not said 512 for XTS, else 256"),
        key("sector_size", Shape::Size, "Bytes that are encrypted as one unit, 512 to 4096; 512 if not said"),
        key("no_read_workqueue", Shape::Switch, "Whether reads bypass dm-crypt's threads; 0 if not said"),
        key("no_write_workqueue", Shape::Switch, "Whether writes bypass dm-crypt's threads; 0 if not said"),
    ],
    instead: &[
        ("key", "every build makes a random key of its own; its size is `key_size`"),
        ("passphrase", "every build makes a random key of its own"),
        ("allow_discards", "TRIM is not passed"),
        ("type", "it is LUKS2"),
    ],
};

/// The raw layer.
pub(crate) static RAW: Table =
    Table { what: "`raw`", keys: &[key("on", Shape::Texts, "The volume")], instead: &[] };

/// ext3, ext4, xfs.
pub(crate) static FILESYSTEM: Table = Table {
    what: "a file system",
    keys: &[
        key("on", Shape::Texts, "The volume; only in the first layer"),
        key("mkfs_options", Shape::Texts, "Extra arguments for mkfs, one per element"),
        key("mount_options", Shape::Texts, "Mount options, e.g. [noatime]"),
        key("stripe", Shape::Map(&STRIPE), "Geometry of the RAID below, for mkfs's stripe options"),
    ],
    instead: &[
        ("options", "write `mount_options` or `mkfs_options`"),
        ("mount", "write `mount_options`"),
        ("mkfs", "write `mkfs_options`"),
    ],
};

/// Stripe geometry.
pub(crate) static STRIPE: Table = Table {
    what: "`stripe`",
    keys: &[
        needed("chunk", Shape::Size, "Bytes on one member before the next is used"),
        needed("width", Shape::Integer, "Number of data members"),
    ],
    instead: &[("size", "write `chunk`"), ("members", "write `width`")],
};

/// btrfs.
pub(crate) static BTRFS: Table = Table {
    what: "`btrfs`",
    keys: &[
        key("on", Shape::Texts, "The volumes; only in the first layer"),
        key("data", Shape::Choice(PROFILES), "Data profile (default: single)"),
        key("metadata", Shape::Choice(PROFILES), "Metadata profile (default: mkfs.btrfs decides)"),
        key("compress", Shape::Text, "zlib[:1-9], lzo, zstd[:1-15], or none"),
        key("compress_force", Shape::Text, "Like compress, also for data that looks incompressible"),
        key("mkfs_options", Shape::Texts, "Extra arguments for mkfs.btrfs, one per element"),
        key("mount_options", Shape::Texts, "Mount options beside compression, e.g. [noatime]"),
    ],
    instead: &[
        ("raid", "write `data`"),
        ("profile", "write `data`"),
        ("compression", "write `compress` or `compress_force`"),
        ("compress-force", "write `compress_force`"),
        ("options", "write `mount_options` or `mkfs_options`"),
    ],
};

/// btrfs profiles.
pub(crate) static PROFILES: &[&str] = &["single", "dup", "raid0", "raid1", "raid10"];

/// A command layer.
pub(crate) static COMMAND: Table = Table {
    what: "`command`",
    keys: &[
        key("on", Shape::Texts, "The volumes; only in the first layer"),
        needed(
            "up",
            Shape::Commands,
            "Programs that build it, each an argument vector; {device}, {devices}, {mount}, {name} are filled in",
        ),
        needed(
            "down",
            Shape::Commands,
            "Programs that take it down; must succeed also when `up` ran only in part",
        ),
        needed(
            "provides",
            Shape::Either(&[Shape::Choice(&["mount"]), Shape::Map(&PROVIDES)]),
            "What it gives to the next layer or the load: `mount`, or { device: /dev/... }",
        ),
    ],
    instead: &[("start", "write `up`"), ("stop", "write `down`"), ("run", "write `up`")],
};

/// What a command layer provides.
pub(crate) static PROVIDES: Table = Table {
    what: "`provides`",
    keys: &[needed("device", Shape::Text, "Path of the block device; may hold {name}")],
    instead: &[],
};

/// How the cells are measured.
pub(crate) static MEASURE: Table = Table {
    what: "`measure`",
    keys: &[
        key(
            "trial",
            Shape::Duration,
            "Measured time of one trial; default: 10s. With until a range it may be chosen from: 5s..60s",
        ),
        key("ramp", Shape::Duration, "Load before measuring begins (default: 2s)"),
        key(
            "rounds",
            Shape::Integer,
            "Passes over all cells (default: 3). With until: the most (default: 30)",
        ),
        key("until", Shape::Map(&UNTIL), "When it is enough: rounds are added until then"),
        key(
            "interval",
            Shape::Percent,
            "Relative half-width wanted of every interval; wider ones are marked",
        ),
        key("confidence", Shape::Percent, "Confidence of every interval (default: 95%)"),
        key("budget", Shape::Map(&BUDGET), "What the whole run may cost"),
        key(
            "trim",
            Shape::Percent,
            "Share of the trials cut off at each end before means are taken, e.g. 10%",
        ),
        key("sample_hz", Shape::Text, "Samples of the kernel's counters per second (default: 10)"),
        key(
            "at_once",
            Shape::Integer,
            "The most machines that run a trial at the same time (default: all that share nothing)",
        ),
    ],
    instead: &[
        ("time", "write `trial`"),
        ("runtime", "write `trial`"),
        ("duration", "write `trial`"),
        ("warmup", "write `ramp`"),
        ("repeat", "write `rounds`"),
        ("repetitions", "write `rounds`"),
        ("goal", "write `until`"),
        ("cost", "write `budget: { money: ... }`"),
        ("money", "write `budget: { money: ... }`"),
        ("written", "write `budget: { written: ... }`"),
        ("ratios", "write `until: { ratios: ... }`"),
        ("told", "write `until: { told: ... }`"),
    ],
};

/// The goal that ends a run.
pub(crate) static UNTIL: Table = Table {
    what: "`until`",
    keys: &[
        key("interval", Shape::Percent, "Until every cell's interval has at most this relative half-width"),
        key("ratios", Shape::Percent, "Until every ratio between two cells of one workload is known to this"),
        key(
            "told",
            Shape::Percent,
            "Until every two cells of one workload are told apart, or shown to differ by less than this",
        ),
        key(
            "best",
            Shape::Text,
            "`price`: until one cell of each workload is shown to be the cheapest that keeps `want`, or none to keep it",
        ),
        key("want", Shape::Text, "With `best`: the limits, e.g. `iops >= 3000, read_lat_p99 <= 5ms`"),
        key("confidence", Shape::Percent, "Confidence of every interval (default: 95%)"),
        key(
            "of",
            Shape::Text,
            "Metric, or a derived one; default: bw for blocks of 128 KiB and more, else iops",
        ),
    ],
    instead: &[
        ("metric", "write `of`"),
        ("width", "write `interval`"),
        ("ratio", "write `ratios`"),
        ("difference", "write `told`"),
        ("rounds", "write `budget: { rounds: ... }` beside `until`"),
        ("time", "write `budget: { time: ... }` beside `until`"),
    ],
};

/// The budget.
pub(crate) static BUDGET: Table = Table {
    what: "`budget`",
    keys: &[
        key(
            "time",
            Shape::Duration,
            "Wall-clock time of the whole run; it ends after the trial in which it is spent",
        ),
        key("rounds", Shape::Integer, "Most rounds"),
        key("written", Shape::Size, "Bytes that trials write to the stacks, laying out included (wear)"),
        key(
            "money",
            Shape::Text,
            "The price of all machines and volumes for as long as the run takes: `5 EUR`, or `5` in the experiment's currency",
        ),
        key("cost", Shape::Text, "Old name of `money`; diskproof 1.0.0 refuses it"),
    ],
    instead: &[
        ("bytes", "write `written`"),
        ("wear", "write `written`"),
        ("price", "write `money`; the price of a volume stands with it: `price: 8/month`"),
        ("trials", "write `rounds`"),
    ],
};
