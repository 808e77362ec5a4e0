//! Names of error numbers, which are the same on every architecture that diskproof supports.

use rustix::io::Errno;

/// The name, e.g. `EIO` for 5; the number as text if it is unknown.
pub(crate) fn name(number: i64) -> String {
    let known = i32::try_from(number).ok().map(Errno::from_raw_os_error);
    let text = match known {
        Some(Errno::IO) => "EIO",
        Some(Errno::NOSPC) => "ENOSPC",
        Some(Errno::PERM) => "EPERM",
        Some(Errno::ACCESS) => "EACCES",
        Some(Errno::NOENT) => "ENOENT",
        Some(Errno::NOMEM) => "ENOMEM",
        Some(Errno::INVAL) => "EINVAL",
        Some(Errno::ROFS) => "EROFS",
        Some(Errno::DQUOT) => "EDQUOT",
        Some(Errno::FBIG) => "EFBIG",
        Some(Errno::MFILE) => "EMFILE",
        Some(Errno::NFILE) => "ENFILE",
        Some(Errno::BUSY) => "EBUSY",
        Some(Errno::NODEV) => "ENODEV",
        Some(Errno::NXIO) => "ENXIO",
        Some(Errno::EXIST) => "EEXIST",
        Some(Errno::AGAIN) => "EAGAIN",
        Some(Errno::INTR) => "EINTR",
        Some(Errno::BADF) => "EBADF",
        Some(Errno::OPNOTSUPP) => "EOPNOTSUPP",
        Some(Errno::NOSYS) => "ENOSYS",
        Some(Errno::TIMEDOUT) => "ETIMEDOUT",
        Some(Errno::CANCELED) => "ECANCELED",
        Some(Errno::STALE) => "ESTALE",
        Some(Errno::REMOTEIO) => "EREMOTEIO",
        Some(Errno::ILSEQ) => "EILSEQ",
        Some(Errno::NODATA) => "ENODATA",
        Some(Errno::NOLINK) => "ENOLINK",
        Some(Errno::BADMSG) => "EBADMSG",
        Some(Errno::UCLEAN) => "EUCLEAN",
        Some(Errno::DEADLK) => "EDEADLK",
        _ => return format!("errno {number}"),
    };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn known_and_unknown_numbers() {
        assert_eq!(name(5), "EIO");
        assert_eq!(name(28), "ENOSPC");
        assert_eq!(name(117), "EUCLEAN");
        assert_eq!(name(4095), "errno 4095");
        assert_eq!(name(i64::MAX), format!("errno {}", i64::MAX));
    }
}
