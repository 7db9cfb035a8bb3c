package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Kinds of blocks. Others are passed over.
const (
	headerBlock = 'H' // what the trace is about, as JSON
	eventsBlock = 'E'
	footerBlock = 'F' // what the trace has, as JSON
	endBlock    = 'Z' // the trace was ended in order
)

// Flags of a block of events.
const (
	freshFlag    = 1 << 0 // the model begins anew
	caughtUpFlag = 1 << 1 // the first after what the recorder remembered
)

// block is the frame of a block: 18 bytes, little endian. The payload, compressed with zstd, follows it. The sum is
// CRC-32C over the frame without the sum, and over the payload.
type block struct {
	kind, flags byte
	events      uint32
	plain       uint32 // length of the payload before compression
	packed      uint32 // and after
	sum         uint32
}

const blockSize = 18

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (b *block) append(to []byte) []byte {
	to = append(to, b.kind, b.flags)
	for _, v := range []uint32{b.events, b.plain, b.packed, b.sum} {
		to = binary.LittleEndian.AppendUint32(to, v)
	}
	return to
}

func (b *block) checksum(payload []byte) uint32 {
	frame := b.append(make([]byte, 0, blockSize))
	return crc32.Update(crc32.Checksum(frame[:blockSize-4], castagnoli), castagnoli, payload)
}

func readBlock(raw []byte) block {
	le := binary.LittleEndian
	return block{raw[0], raw[1], le.Uint32(raw[2:]), le.Uint32(raw[6:]), le.Uint32(raw[10:]), le.Uint32(raw[14:])}
}

func (b *block) check() error {
	switch {
	case b.events > maxEvents:
		return tooMany(maxEvents, "events in a block")
	case b.plain > maxPlain, b.packed > maxPacked:
		return tooMany(maxPlain, "bytes in a block")
	}
	return nil
}

// packer makes whole blocks out of payloads.
type packer struct {
	zstd *zstd.Encoder
	out  []byte
}

func newPacker() (*packer, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("prepare compression: %w", err)
	}
	return &packer{zstd: z}, nil
}

// pack returns the block. It is valid until the next call of pack.
func (p *packer) pack(b block, payload []byte) []byte {
	p.out = append(p.out[:0], make([]byte, blockSize)...)
	p.out = p.zstd.EncodeAll(payload, p.out)
	b.plain, b.packed = uint32(len(payload)), uint32(len(p.out)-blockSize)
	b.sum = b.checksum(p.out[blockSize:])
	b.append(p.out[:0])
	return p.out
}

// unpacker reads blocks.
type unpacker struct {
	zstd   *zstd.Decoder
	packed bytes.Buffer
	plain  []byte
}

func newUnpacker() (*unpacker, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPlain),
		zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("prepare decompression: %w", err)
	}
	return &unpacker{zstd: z}, nil
}

// next reads a block. The payload is valid until the next call. The error is io.EOF only if the block's first byte is
// missing.
func (u *unpacker) next(r io.Reader) (block, []byte, error) {
	var frame [blockSize]byte
	if _, err := io.ReadFull(r, frame[:]); err != nil {
		return block{}, nil, err
	}
	b := readBlock(frame[:])
	if err := b.check(); err != nil {
		return b, nil, err
	}
	// Memory is allocated as bytes come, not as the frame promises them.
	u.packed.Reset()
	if _, err := io.CopyN(&u.packed, r, int64(b.packed)); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return b, nil, err
	}
	if b.checksum(u.packed.Bytes()) != b.sum {
		return b, nil, errors.New("a block does not have the checksum that it was written with")
	}
	payload, err := u.unpack(&b)
	return b, payload, err
}

func (u *unpacker) unpack(b *block) (_ []byte, err error) {
	u.plain, err = u.zstd.DecodeAll(u.packed.Bytes(), u.plain[:0])
	if err != nil {
		return nil, fmt.Errorf("decompress a block: %w", err)
	}
	if len(u.plain) != int(b.plain) {
		return nil, fmt.Errorf("a block has %d bytes and says %d", len(u.plain), b.plain)
	}
	return u.plain, nil
}
