//go:build linux && amd64

package rescue

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unsafe"
)

// handlerRange returns the addresses of the handler's code, of the restorer in it, and of its end.
func handlerRange() (begin unsafe.Pointer, restorer, end uintptr)

// placeholder is the constant in the handler's code that stands for the address of the data.
const placeholder = 0x5afe5afe5afe5afe

// handlerCode returns the code of the handler for a net whose data is at an address, and where in it the restorer is.
func handlerCode(data uint64) (code []byte, restorerAt uint64, err error) {
	from, restorer, end := handlerRange()
	begin := uintptr(from)
	if restorer < begin || end <= restorer || end-begin > magicAt {
		return nil, 0, errors.New("the code of podstep's handler is not in one piece")
	}
	code = bytes.Clone(unsafe.Slice((*byte)(from), end-begin))
	before := binary.LittleEndian.AppendUint64(nil, placeholder)
	if bytes.Count(code, before) != 1 {
		return nil, 0, errors.New("the code of podstep's handler has no place for an address")
	}
	return bytes.Replace(code, before, binary.LittleEndian.AppendUint64(nil, data), 1), uint64(restorer - begin), nil
}
