// Package gotypes reads the structures that a Go program keeps of itself for reflection: which members a type has, and
// at which offsets. Stripping does not remove them. So podstep can compare its tables of where values lie with the very
// program that it looks into.
package gotypes

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/podstep/podstep/probes/pclntab"
)

// Types are the structures of a program, by name as reflection prints it: package and type, such as v1.Pod. Packages of
// one name have types of one name, so there may be several.
type Types struct {
	section pclntab.Section
	byName  map[string][]*structure
}

// structure is a type that is a structure.
type structure struct {
	size    uint64
	members []member
}

type member struct {
	name   string
	typ    uint64 // the offset of its type in the section
	offset uint64
}

// The layout of package internal/abi's Type, StructType and StructField, which has been the same since Go 1.20.
const (
	flagsAt, kindAt, nameAt = 20, 23, 40
	membersAt               = 56
	plainSize, methodsSize  = 80, 96 // of a StructType, without methods and with some; its members follow
	memberSize              = 24
	memberTypeAt, offsetAt  = 8, 16

	kindMask, kindStruct  = 31, 25
	extraStar, named      = 2, 4 // flags
	maxMembers, maxLength = 4096, 512
)

// Read finds the structures in a program's types.
func Read(s pclntab.Section) *Types {
	t := &Types{section: s, byName: map[string][]*structure{}}
	for at := 0; at+plainSize <= len(s.Data); at += 8 {
		if s.Data[at+kindAt]&kindMask != kindStruct || s.Data[at+flagsAt]&named == 0 {
			continue
		}
		if one, ok := t.structure(uint64(at)); ok {
			if name, ok := t.nameOf(uint64(at)); ok {
				t.byName[name] = append(t.byName[name], one)
			}
		}
	}
	return t
}

// structure returns the structure whose type is at an offset. ok is false if there is none.
func (t *Types) structure(at uint64) (out *structure, ok bool) {
	if at > uint64(len(t.section.Data)) || uint64(len(t.section.Data))-at < plainSize || t.section.Data[at+kindAt]&kindMask != kindStruct {
		return nil, false
	}
	first, n := t.word(at+membersAt)-t.section.Addr, t.word(at+membersAt+8)
	if n == 0 || n > maxMembers || n != t.word(at+membersAt+16) || first != at+plainSize && first != at+methodsSize {
		return nil, false
	}
	out = &structure{size: t.word(at)}
	for i := range n {
		m := first + i*memberSize
		name, ok := t.name(t.word(m) - t.section.Addr)
		offset := t.word(m + offsetAt)
		if !ok || offset > out.size {
			return nil, false
		}
		out.members = append(out.members, member{name, t.word(m+memberTypeAt) - t.section.Addr, offset})
	}
	return out, true
}

// nameOf returns the name of the type at an offset.
func (t *Types) nameOf(at uint64) (string, bool) {
	name, ok := t.name(uint64(binary.LittleEndian.Uint32(t.section.Data[at+nameAt:])))
	if ok && t.section.Data[at+flagsAt]&extraStar != 0 {
		return strings.CutPrefix(name, "*")
	}
	return name, ok
}

// name returns the name at an offset, before which stand a byte of flags and its length.
func (t *Types) name(at uint64) (string, bool) {
	if at >= uint64(len(t.section.Data)) {
		return "", false
	}
	b := t.section.Data[at+1:]
	n, used := binary.Uvarint(b)
	if used <= 0 || n == 0 || n > maxLength || uint64(len(b)-used) < n {
		return "", false
	}
	text := b[used : used+int(n)]
	return string(text), bytes.IndexByte(text, 0) < 0
}

func (t *Types) word(at uint64) uint64 {
	if at > uint64(len(t.section.Data)) || uint64(len(t.section.Data))-at < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(t.section.Data[at:])
}

// Offsets returns where a path of members, such as ObjectMeta.UID, leads in each structure of a name, and how many
// structures have the name. A structure in which the path leads nowhere has no offset.
func (t *Types) Offsets(name, path string) (offsets []uint64, structures int) {
	for _, s := range t.byName[name] {
		if at, ok := t.follow(s, strings.Split(path, ".")); ok {
			offsets = append(offsets, at)
		}
	}
	return offsets, len(t.byName[name])
}

func (t *Types) follow(s *structure, path []string) (offset uint64, ok bool) {
	i := slices.IndexFunc(s.members, func(m member) bool { return m.name == path[0] })
	if i < 0 {
		return 0, false
	}
	m := s.members[i]
	if len(path) == 1 {
		return m.offset, true
	}
	inner, ok := t.structure(m.typ)
	if !ok {
		return 0, false
	}
	offset, ok = t.follow(inner, path[1:])
	return m.offset + offset, ok
}
