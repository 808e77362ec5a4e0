//! A job's I/O buffers: one aligned allocation with a slot per I/O in flight; all pages are touched before the load begins.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use thiserror::Error;

/// The alignment of every slot: direct I/O needs whole logical blocks, at most a page.
const ALIGN_BYTES: usize = 4096;

/// The size of huge pages, which need fewer entries in the page tables and the TLB.
const HUGE_BYTES: usize = 2 << 20;

/// The most bytes that the kernel registers as one buffer.
const MOST_PER_REGISTERED: usize = 1 << 30;

/// Buffers that no address space holds.
#[derive(Debug, Error)]
#[error("{slots} blocks of {block_bytes} bytes are too much memory")]
pub struct BufferError {
    slots: usize,
    block_bytes: usize,
}

/// Memory for `slots` blocks.
pub(crate) struct Buffers {
    base: *mut u8,
    layout: Layout,
    stride: usize,
    block_bytes: usize,
    slots: usize,
    /// Whether the kernel may still have I/Os on it.
    lent: bool,
}

// SAFETY: the memory belongs to this value alone and isn't tied to the thread that allocated it.
#[expect(
    unsafe_code,
    reason = "a raw pointer isn't Send by itself; the buffers move into their lane's thread"
)]
unsafe impl Send for Buffers {}

impl Buffers {
    /// # Errors
    /// When it is more than an address space holds.
    pub(crate) fn new(slots: usize, block_bytes: usize) -> Result<Self, BufferError> {
        let too_large = || BufferError { slots, block_bytes };
        let stride = block_bytes.max(1).checked_next_multiple_of(ALIGN_BYTES).ok_or_else(too_large)?;
        let bytes = stride.checked_mul(slots.max(1)).ok_or_else(too_large)?;
        let align = if bytes >= HUGE_BYTES { HUGE_BYTES } else { ALIGN_BYTES };
        let layout = Layout::from_size_align(bytes, align).map_err(|_| too_large())?;
        Ok(Self { base: allocate(layout), layout, stride, block_bytes, slots, lent: false })
    }

    /// The size of the whole allocation.
    pub(crate) fn bytes(&self) -> usize {
        self.layout.size()
    }

    /// Records that the kernel may have I/Os on it, until [`Buffers::taken_back`].
    pub(crate) fn lend(&mut self) {
        self.lent = true;
    }

    /// Records that the kernel has completed all I/Os on it.
    pub(crate) fn taken_back(&mut self) {
        self.lent = false;
    }

    /// The address of a slot, for the kernel.
    #[inline]
    pub(crate) fn pointer(&self, slot: usize) -> *mut u8 {
        assert!(slot < self.slots, "slot {slot} of {}", self.slots);
        self.base.wrapping_add(slot * self.stride)
    }

    /// The first `length` bytes of a slot. No I/O may be in flight on it.
    #[inline]
    #[expect(unsafe_code, reason = "the kernel shares this memory by address, so it can't be a plain slice")]
    pub(crate) fn block(&mut self, slot: usize, length: u32) -> &mut [u8] {
        let pointer = self.pointer(slot);
        let length = (length as usize).min(self.block_bytes);
        // SAFETY: the slot lies within the allocation (checked by `pointer`), is initialized (zeroed), and is borrowed from
        // `self` mutably, so there is no other reference; the lane calls this only for free slots, on which the kernel has no
        // I/O.
        unsafe { std::slice::from_raw_parts_mut(pointer, length) }
    }

    /// The pieces to register with the kernel, and the number of slots in each.
    pub(crate) fn pieces(&self) -> (Vec<libc::iovec>, usize) {
        let per_piece = (MOST_PER_REGISTERED / self.stride).max(1);
        let pieces = (0..self.slots).step_by(per_piece).map(|first| libc::iovec {
            iov_base: self.pointer(first).cast(),
            iov_len: per_piece.min(self.slots - first) * self.stride,
        });
        (pieces.collect(), per_piece)
    }
}

impl Drop for Buffers {
    #[expect(unsafe_code, reason = "what was allocated by hand is freed by hand")]
    fn drop(&mut self) {
        if self.lent {
            // A closed ring doesn't wait for its I/Os: the kernel may still write to this memory, so it is never freed. It goes
            // with the process, which ends after such a failure.
            return;
        }
        // SAFETY: `base` came from `alloc_zeroed` with this very layout and is freed only here, when no I/O is in flight on it.
        unsafe { dealloc(self.base, self.layout) }
    }
}

#[expect(unsafe_code, reason = "aligned memory that the kernel writes to isn't to be had from a Vec")]
fn allocate(layout: Layout) -> *mut u8 {
    // SAFETY: the layout's size isn't 0: there is at least one slot of at least a page.
    let base = unsafe { alloc_zeroed(layout) };
    if base.is_null() {
        handle_alloc_error(layout);
    }
    if layout.size() >= HUGE_BYTES {
        // Only a hint: without huge pages everything works the same, a little slower.
        // SAFETY: the range is that of the allocation; the advice doesn't change its content.
        unsafe { libc::madvise(base.cast(), layout.size(), libc::MADV_HUGEPAGE) };
    }
    for page in (0..layout.size()).step_by(ALIGN_BYTES) {
        // SAFETY: within the allocation. The page is allocated now, not in the measured time.
        unsafe { base.add(page).write_volatile(0) };
    }
    base
}

#[cfg(test)]
mod tests {
    use super::Buffers;

    #[test]
    fn slots_are_aligned_and_apart() {
        let mut buffers = Buffers::new(5, 5000).unwrap();
        for slot in 0..5 {
            assert_eq!(buffers.pointer(slot) as usize % 4096, 0);
            buffers.block(slot, 5000).fill(u8::try_from(slot).unwrap() + 1);
        }
        for slot in 0..5 {
            assert_eq!(buffers.block(slot, 5000).len(), 5000);
            assert!(buffers.block(slot, 5000).iter().all(|b| usize::from(*b) == slot + 1));
        }
        let (pieces, per_piece) = buffers.pieces();
        assert_eq!(pieces.len(), 1);
        assert!(per_piece >= 5);
        assert_eq!(pieces[0].iov_len, 5 * 8192);
    }

    #[test]
    fn too_much_is_an_error() {
        assert!(Buffers::new(usize::MAX / 4096, 8192).is_err());
    }
}
