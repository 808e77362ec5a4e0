//! A job on io_uring: one thread, one ring.

use super::batching::Batching;
use super::buffers::Buffers;
use super::chooser::Choice;
use super::clock::Clock;
use super::content::Content;
use super::error::{LaneError, NoRing, RingError};
use super::hang::{self, HUNG_NS};
use super::kind::Kind;
use super::lane::{Finished, Shared, Start};
use super::meter::{Helpers, Meter};
use super::proof::books::Proof;
use super::sources::{Next, Sources};
use super::tally::{Failure, Tally};
use super::task::JobTask;
use super::trim;
use io_uring::types::{Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{CompletionQueue, IoUring, SubmissionQueue, Submitter, opcode, squeue};
use record::workload::SyncMode;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

/// How often a waiting lane checks whether an I/O hangs, in nanoseconds.
const LOOK_NS: u64 = 1_000_000_000;

/// A due time closer than this is awaited without sleep, because waking up would take longer.
const SPIN_NS: u64 = 60_000;

/// How long the kernel's submitting thread spins before it sleeps, in ms.
const SQPOLL_IDLE_MS: u32 = 1000;

/// A ring and its registered buffers.
pub(crate) struct Ring {
    ring: IoUring,
    buffers: Buffers,
    slots_per_piece: Option<usize>,
    /// Its setup, for the record.
    pub(crate) description: String,
}

/// Creates a ring with the best features of this kernel.
fn build(job: &JobTask, entries: u32) -> Result<(IoUring, &'static str), io::Error> {
    let base = || {
        let mut builder = IoUring::builder();
        builder.setup_clamp().setup_cqsize(entries.saturating_mul(2));
        if job.hipri {
            builder.setup_iopoll();
        }
        builder
    };
    if job.sqthread_poll {
        return Ok((
            base().setup_sqpoll(SQPOLL_IDLE_MS).build(entries)?,
            "io_uring, submitted by a kernel thread",
        ));
    }
    let newest = base().setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().build(entries);
    match newest {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok((base().build(entries)?, "io_uring")),
        other => Ok((other?, "io_uring, single issuer, deferred task work")),
    }
}

/// Whether a job's ring can be created; checked before the jobs begin.
pub(crate) fn probe(job: &JobTask) -> Result<(), NoRing> {
    let (ring, _) = build(job, 8).map_err(|error| refused(job, error))?;
    if ring.params().is_feature_ext_arg() { Ok(()) } else { Err(NoRing::TooOld) }
}

fn refused(job: &JobTask, error: io::Error) -> NoRing {
    match error.raw_os_error() {
        Some(libc::ENOSYS | libc::EPERM | libc::EACCES) if !job.hipri && !job.sqthread_poll => {
            NoRing::Refused(error)
        }
        _ => NoRing::Failed(error),
    }
}

impl Ring {
    /// # Errors
    /// When the ring can't be created.
    pub(crate) fn new(job: &JobTask, files: &[File]) -> Result<Self, LaneError> {
        let depth = usize::try_from(job.iodepth).unwrap_or(usize::MAX).max(1);
        // A submitting thread frees entries only after a whole batch, when some of it may be done and issued again.
        let queued = if job.sqthread_poll { job.iodepth.saturating_mul(2) } else { job.iodepth };
        let entries = queued.clamp(1, 32_768).next_power_of_two();
        let (ring, how) = build(job, entries).map_err(LaneError::SetUp)?;
        if usize::try_from(ring.params().cq_entries()).unwrap_or(0) < depth {
            return Err(LaneError::Depth { depth });
        }
        let buffers = Buffers::new(depth, job.buffer_bytes())?;
        let mut notes = vec![how.to_owned()];
        let numbers: Vec<_> = files.iter().map(|file| file.as_raw_fd()).collect();
        let registered = ring.submitter().register_files(&numbers);
        registered.map_err(|source| LaneError::Register { files: numbers.len(), source })?;
        let slots_per_piece = match register(&ring, &buffers) {
            Ok(per_piece) => {
                notes.push("registered file and buffers".to_owned());
                Some(per_piece)
            }
            Err(error) => {
                notes.push(format!("registered file, buffers not registered ({error})"));
                None
            }
        };
        if job.hipri {
            notes.push("polled".to_owned());
        }
        Ok(Self { ring, buffers, slots_per_piece, description: notes.join(", ") })
    }

    pub(crate) fn buffer_bytes(&self) -> usize {
        self.buffers.bytes()
    }

    /// Runs the job's load to its end.
    ///
    /// # Errors
    /// When the kernel refuses the ring itself, or a place can't be trimmed at all. Failed I/Os are counted, and aren't errors here.
    pub(crate) fn run(
        &mut self,
        shared: &Shared<'_>,
        job: (u32, &JobTask),
        (sources, content): (&mut Sources, Content),
        start: Start,
    ) -> Result<Finished, LaneError> {
        let (number, job) = job;
        let depth = job.iodepth.max(1);
        let tally = Tally::new(start.span)
            .with_durable_writes(job.sync != SyncMode::None)
            .with_board(shared.board.clone());
        let meter = Meter::new(start.span, Helpers::OfTheProcess);
        self.buffers.lend();
        let (mut submitter, sq, cq) = self.ring.split();
        // It only saves the kernel a lookup per call.
        let _ = submitter.register_ring_fd();
        let mut flight = Flight {
            shared,
            job,
            number,
            end_ns: start.span.end_ns,
            now_ns: start.clock.now_ns(),
            clock: start.clock,
            tally,
            meter,
            sq,
            cq,
            maker: Maker { buffers: &mut self.buffers, slots_per_piece: self.slots_per_piece },
            content,
            slots: vec![Slot::FREE; depth as usize],
            free: Free::new(depth),
            batching: Batching::new(job.batches, depth as usize),
            wake_ns: 0,
            over: false,
            watches: sources.watches(),
            covered: vec![0; if sources.watches() { depth as usize } else { 0 }],
            cannot_trim: None,
            looked_ns: 0,
            hang_told_ns: 0,
        };
        let ended = flight.run(&submitter, sources);
        // A load that ended without an error has nothing in flight.
        if ended.is_ok() {
            flight.maker.buffers.taken_back();
        }
        let Flight { tally, meter, clock, over, cannot_trim, content, .. } = flight;
        let end_ns = clock.now_ns();
        let used = meter.close(end_ns);
        // The files are released now: a ring that is being destroyed keeps a file system busy for a while.
        let _ = submitter.unregister_files();
        ended?;
        if let Some((errno, file)) = cannot_trim
            && let Some(place) = job.places.get(file as usize)
        {
            trim::check_supported(errno, &place.path, place.block_device)?;
        }
        let proof = content.into_faults().map(|faults| Proof { job: number, faults, books: Vec::new() });
        Ok(Finished { tally, used, over, proof, end_ns })
    }
}

#[expect(unsafe_code, reason = "the kernel keeps the buffers' addresses")]
fn register(ring: &IoUring, buffers: &Buffers) -> io::Result<usize> {
    let (pieces, per_piece) = buffers.pieces();
    // SAFETY: the buffers live as long as the ring: both are fields of `Ring`, and the ring, declared first, is dropped first.
    // They are freed only when no I/O is in flight (`Buffers::lend`).
    unsafe { ring.submitter().register_buffers(&pieces)? };
    Ok(per_piece)
}

/// An I/O in flight.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// The time of its issue, or its due time; 0: none is in flight.
    since_ns: u64,
    choice: Choice,
}

impl Slot {
    const FREE: Self = Self {
        since_ns: 0,
        choice: Choice { kind: Kind::Read, data_only: false, file: 0, length_bytes: 0, offset_bytes: 0 },
    };
}

/// Creates entries of the submission queue.
struct Maker<'a> {
    buffers: &'a mut Buffers,
    slots_per_piece: Option<usize>,
}

impl Maker<'_> {
    #[inline]
    fn entry(&self, slot: usize, choice: &Choice) -> squeue::Entry {
        let (file, length, offset) = (Fixed(choice.file), choice.length_bytes, choice.offset_bytes);
        let pointer = self.buffers.pointer(slot);
        // There is hardly ever more than one piece, and a division would take longer than all the rest here.
        let number = |per| if slot < per { 0 } else { u16::try_from(slot / per).unwrap_or(u16::MAX) };
        let piece = self.slots_per_piece.map(number);
        match (choice.kind, piece) {
            (Kind::Read, Some(piece)) => {
                opcode::ReadFixed::new(file, pointer, length, piece).offset(offset).build()
            }
            (Kind::Read, None) => opcode::Read::new(file, pointer, length).offset(offset).build(),
            (Kind::Write, Some(piece)) => {
                opcode::WriteFixed::new(file, pointer, length, piece).offset(offset).build()
            }
            (Kind::Write, None) => opcode::Write::new(file, pointer, length).offset(offset).build(),
            (Kind::Trim, _) => {
                opcode::Fallocate::new(file, length.into()).offset(offset).mode(trim::HOLE).build()
            }
            (Kind::Sync, _) => {
                let flags = if choice.data_only { FsyncFlags::DATASYNC } else { FsyncFlags::empty() };
                opcode::Fsync::new(file).flags(flags).build()
            }
        }
    }
}

/// The free slots, with the last used one on top: its buffer is still in the CPU's caches.
struct Free {
    slots: Vec<u32>,
    count: usize,
}

impl Free {
    fn new(depth: u32) -> Self {
        Self { slots: (0..depth).rev().collect(), count: depth as usize }
    }

    #[inline]
    fn pop(&mut self) -> Option<u32> {
        let below = self.count.checked_sub(1)?;
        self.count = below;
        self.slots.get(below).copied()
    }

    #[inline]
    fn push(&mut self, slot: u32) {
        if let Some(place) = self.slots.get_mut(self.count) {
            *place = slot;
            self.count += 1;
        }
    }

    fn all(&self) -> bool {
        self.count == self.slots.len()
    }

    fn in_flight(&self) -> usize {
        self.slots.len() - self.count
    }
}

/// A running load.
struct Flight<'r, 's> {
    shared: &'s Shared<'s>,
    job: &'s JobTask,
    number: u32,
    end_ns: u64,
    /// The time of the last check, which counts for everything seen or issued in that check.
    now_ns: u64,
    clock: Clock,
    tally: Tally,
    meter: Meter,
    sq: SubmissionQueue<'r>,
    cq: CompletionQueue<'r>,
    maker: Maker<'r>,
    content: Content,
    slots: Vec<Slot>,
    free: Free,
    batching: Batching,
    /// The time at which something can be issued again; 0: at once, `u64::MAX`: when an I/O completes.
    wake_ns: u64,
    /// Whether there is nothing more to issue.
    over: bool,
    /// Whether the sources need to know of completions.
    watches: bool,
    /// What the syncs in flight cover, by slot; empty if nobody needs to know.
    covered: Vec<u64>,
    /// The error number and the file of a trim that the place doesn't support at all.
    cannot_trim: Option<(i32, u32)>,
    looked_ns: u64,
    hang_told_ns: u64,
}

impl Flight<'_, '_> {
    fn run(&mut self, submitter: &Submitter<'_>, sources: &mut Sources) -> Result<(), RingError> {
        loop {
            let mut issuing = self.now_ns < self.end_ns && !self.over && !self.shared.stopped();
            if issuing {
                self.issue(sources)?;
                issuing = !self.over;
            }
            if !issuing && self.free.all() {
                return Ok(());
            }
            let patience = self.patience_ns(issuing);
            match patience {
                None => retry(submitter.submit())?,
                Some(ns) if self.batching.looks_first() => self.look_then_wait(submitter, ns)?,
                Some(ns) => self.wait(submitter, ns)?,
            }
            self.reap(sources, self.batching.most(patience.is_some()));
        }
    }

    /// In batches: submits the batch, and waits only if nothing has completed.
    fn look_then_wait(&mut self, submitter: &Submitter<'_>, patience_ns: u64) -> Result<(), RingError> {
        retry(submitter.submit())?;
        self.cq.sync();
        if !self.cq.is_empty() {
            return Ok(());
        }
        // A completion may be waiting for our call to fetch it.
        if !self.sq.taskrun() {
            self.batching.waits();
        }
        self.wait(submitter, patience_ns)
    }

    /// Fills free slots and the submission queue, up to one batch.
    #[inline]
    fn issue(&mut self, sources: &mut Sources) -> Result<(), RingError> {
        let before = self.free.count;
        self.wake_ns = 0;
        // Reads which entries the kernel has taken meanwhile.
        self.sq.sync();
        let lot = self.batching.lot();
        while before - self.free.count < lot && self.free.count > 0 {
            let (choice, due_ns) = match sources.next(self.now_ns, self.now_ns) {
                Next::Io(choice, due_ns) => (choice, due_ns),
                Next::Later(wake_ns) => {
                    self.wake_ns = wake_ns;
                    if wake_ns < u64::MAX {
                        self.batching.waits();
                    }
                    break;
                }
                Next::Over => {
                    self.over = true;
                    break;
                }
            };
            let Some(slot) = self.free.pop() else { break };
            if self.watches {
                sources.begin(&choice, self.content.noted(slot as usize));
                if choice.kind == Kind::Sync
                    && let Some(covered) = self.covered.get_mut(slot as usize)
                {
                    *covered = sources.covered(&choice);
                }
            }
            if choice.kind == Kind::Write {
                let block = self.maker.buffers.block(slot as usize, choice.length_bytes);
                self.content.fill(slot as usize, block, &choice);
            }
            let entry = self.maker.entry(slot as usize, &choice).user_data(slot.into());
            push(&mut self.sq, &entry)?;
            if let Some(known) = self.slots.get_mut(slot as usize) {
                *known = Slot { since_ns: due_ns, choice };
            }
        }
        if self.free.count < before {
            self.stamp(before);
        }
        if self.free.count == 0 {
            self.batching.full();
        } else {
            self.batching.gave(before - self.free.count);
        }
        Ok(())
    }

    /// Publishes the queued entries and sets their time of issue, after their data were generated. With a rate, it is the due
    /// time.
    #[inline]
    fn stamp(&mut self, free_before: usize) {
        self.sq.sync();
        self.now_ns = self.clock.now_ns();
        // The popped slots are still there, just above the top.
        for slot in self.free.slots.get(self.free.count..free_before).unwrap_or_default() {
            if let Some(known) = self.slots.get_mut(*slot as usize)
                && known.since_ns == 0
            {
                known.since_ns = self.now_ns;
            }
        }
    }

    /// How long to wait for a completion, in nanoseconds; `None` when there is more to issue at once.
    #[inline]
    fn patience_ns(&self, issuing: bool) -> Option<u64> {
        if !issuing {
            return Some(LOOK_NS);
        }
        let until_end = LOOK_NS.min(self.end_ns.saturating_sub(self.now_ns)).max(1);
        if self.free.count == 0 || self.batching.drains() {
            return Some(until_end);
        }
        match self.wake_ns.saturating_sub(self.now_ns) {
            soon if soon <= SPIN_NS => None,
            later => Some(until_end.min(later - SPIN_NS)),
        }
    }

    fn wait(&mut self, submitter: &Submitter<'_>, patience_ns: u64) -> Result<(), RingError> {
        // One by one, the call that submits the last I/O waits too.
        if !self.batching.looks_first() {
            self.batching.waits();
        }
        let least = self.batching.least(self.free.in_flight());
        let nanoseconds = u32::try_from(patience_ns % 1_000_000_000).unwrap_or(0);
        let timeout = Timespec::new().sec(patience_ns / 1_000_000_000).nsec(nanoseconds);
        let waited = submitter.submit_with_args(least, &SubmitArgs::new().timespec(&timeout));
        let timed_out = matches!(&waited, Err(error) if error.raw_os_error() == Some(libc::ETIME));
        if timed_out {
            self.look_for_hangs();
            return Ok(());
        }
        retry(waited)
    }

    /// Takes the available completions, up to `most`.
    #[inline]
    fn reap(&mut self, sources: &mut Sources, most: usize) {
        self.cq.sync();
        self.now_ns = self.clock.now_ns();
        if self.tally.is_over(self.now_ns) {
            self.tally.roll(self.now_ns);
            self.meter.look(self.now_ns);
            self.clock.adjust();
            if self.now_ns.saturating_sub(self.looked_ns) >= LOOK_NS {
                self.look_for_hangs();
            }
        }
        for entry in (&mut self.cq).take(most) {
            // The queued value came from `issue`: a slot's number.
            let slot = u32::try_from(entry.user_data()).unwrap_or(u32::MAX);
            let Some(known) = self.slots.get_mut(slot as usize) else { continue };
            let Slot { since_ns, choice } = *known;
            known.since_ns = 0;
            self.free.push(slot);
            // A flush and a trim return 0.
            let moves = matches!(choice.kind, Kind::Read | Kind::Write);
            let result = entry.result();
            let wanted = if moves { i64::from(choice.length_bytes) } else { 0 };
            let good = i64::from(result) == wanted;
            if good {
                let latency_ns = self.now_ns.saturating_sub(since_ns);
                self.tally.add(choice.kind, latency_ns, choice.length_bytes.into());
            } else {
                let failure = if result < 0 { Failure::Errno(-result) } else { Failure::Short };
                self.tally.error(self.number, choice.kind, failure, choice.offset_bytes);
                self.shared.fail(self.job, choice.kind);
                if choice.kind == Kind::Trim && self.cannot_trim.is_none() {
                    self.cannot_trim = Some((-result, choice.file));
                }
            }
            if self.watches {
                sources.completed(&choice, self.now_ns);
                sources.end(&choice, good, self.content.newest());
                let covered = self.covered.get(slot as usize).copied().unwrap_or(0);
                for submitted_ns in sources.made_durable(&choice, good, since_ns, covered) {
                    self.tally.durable(self.now_ns.saturating_sub(submitted_ns));
                }
                if good && choice.kind == Kind::Read {
                    let block = self.maker.buffers.block(slot as usize, choice.length_bytes);
                    self.content.look(slot as usize, block, &choice, |kind, offset_bytes| {
                        self.tally.error(self.number, choice.kind, Failure::Content(kind), offset_bytes);
                        self.shared.wrong(self.job);
                    });
                }
            }
        }
        self.cq.sync();
        self.batching.took(self.free.in_flight());
    }

    /// Reports I/Os that have been in flight for too long.
    #[cold]
    fn look_for_hangs(&mut self) {
        self.now_ns = self.clock.now_ns();
        self.looked_ns = self.now_ns;
        let in_flight = self.slots.iter().filter(|slot| slot.since_ns > 0);
        let Some(oldest) = in_flight.min_by_key(|slot| slot.since_ns) else { return };
        let age_ns = self.now_ns.saturating_sub(oldest.since_ns);
        if age_ns >= HUNG_NS && self.now_ns.saturating_sub(self.hang_told_ns) >= 2 * HUNG_NS {
            self.hang_told_ns = self.now_ns;
            let choice = &oldest.choice;
            let _ =
                self.shared.say.send(hang::message(self.number, choice.kind, choice.offset_bytes, age_ns));
        }
    }
}

#[inline]
#[expect(unsafe_code, reason = "the kernel gets the address of a buffer")]
fn push(sq: &mut SubmissionQueue<'_>, entry: &squeue::Entry) -> Result<(), RingError> {
    // SAFETY: the entry's buffer is a slot of `Buffers`, which is freed only when nothing is in flight, and isn't accessed until
    // its completion is reaped; its file is registered with the ring.
    unsafe { sq.push(entry) }.map_err(|_| RingError::Full)
}

/// Interruptions and a momentary lack of kernel memory are no failures: entries that weren't taken are still queued.
fn retry(submitted: io::Result<usize>) -> Result<(), RingError> {
    match submitted {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY)) => {
            Ok(())
        }
        Err(error) => Err(RingError::Enter(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Free, NoRing, refused, retry};
    use crate::native::task::JobTask;
    use crate::native::testing::job;
    use record::workload::Rw;
    use std::io::Error;

    #[test]
    fn only_a_refusal_leads_to_threads() {
        let plain = job(Rw::Read);
        let polled = JobTask { hipri: true, ..job(Rw::Read) };
        let kind = |job: &JobTask, errno| {
            matches!(refused(job, Error::from_raw_os_error(errno)), NoRing::Refused(_))
        };
        for errno in [libc::ENOSYS, libc::EPERM, libc::EACCES] {
            assert!(kind(&plain, errno));
            assert!(!kind(&polled, errno), "threads can't do what was asked");
        }
        for errno in [libc::EINVAL, libc::ENOMEM, libc::EMFILE] {
            assert!(!kind(&plain, errno));
        }
    }

    #[test]
    fn what_the_kernel_did_not_take_is_given_again() {
        for errno in [libc::EINTR, libc::EAGAIN, libc::EBUSY] {
            assert!(retry(Err(Error::from_raw_os_error(errno))).is_ok());
        }
        assert!(retry(Err(Error::from_raw_os_error(libc::EBADF))).is_err());
    }

    #[test]
    fn the_slot_used_last_is_used_next() {
        let mut free = Free::new(3);
        assert_eq!((free.pop(), free.pop()), (Some(0), Some(1)));
        free.push(0);
        assert!(!free.all());
        assert_eq!((free.pop(), free.pop(), free.pop()), (Some(0), Some(2), None));
        [2, 1, 0].into_iter().for_each(|slot| free.push(slot));
        assert!(free.all());
    }
}
