package mcp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// keep bounds the answers whose further pages can still be asked for.
const keep = 16

// shelf keeps the last answers that have more than one page.
type shelf struct {
	secret []byte // signs cursors, so that one that was made up is not taken for one that is too old

	mu   sync.Mutex
	last uint32
	kept []*kept
}

// kept is an answer with its pages.
type kept struct {
	id       uint32
	tool     string
	question string // in JSON, without a cursor
	pages    [][]byte
}

func newShelf() *shelf {
	secret := make([]byte, 16)
	_, _ = rand.Read(secret) // it never fails
	return &shelf{secret: secret}
}

// put keeps an answer. It forgets the oldest if there are too many.
func (s *shelf) put(tool, question string, pages [][]byte) *kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	k := &kept{s.last, tool, question, pages}
	if len(pages) > 1 {
		s.kept = append(s.kept, k)
		s.kept = s.kept[max(0, len(s.kept)-keep):]
	}
	return k
}

// The parts of a cursor, in bytes: the answer, the page, and the sign of both.
const (
	cursorPlain = 4 + 2
	cursorSign  = 6
)

// cursor returns the cursor of a page of an answer.
func (s *shelf) cursor(k *kept, page int) string {
	plain := binary.BigEndian.AppendUint32(nil, k.id)
	plain = binary.BigEndian.AppendUint16(plain, uint16(page))
	return base64.RawURLEncoding.EncodeToString(append(plain, s.sign(plain)...))
}

func (s *shelf) sign(plain []byte) []byte {
	h := hmac.New(sha256.New, s.secret)
	h.Write(plain)
	return h.Sum(nil)[:cursorSign]
}

var (
	errNoCursor  = errors.New("the cursor is none of this server's: copy the cursor of the page before unchanged, or leave it out to ask anew")
	errOldCursor = fmt.Errorf("the cursor is of an answer that is no longer kept: only the last %d are; ask anew, without the cursor", keep)
)

// find returns the answer and the page of a cursor that was given to a tool with a question.
func (s *shelf) find(tool, question, cursor string) (*kept, int, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) != cursorPlain+cursorSign || !hmac.Equal(raw[cursorPlain:], s.sign(raw[:cursorPlain])) {
		return nil, 0, errNoCursor
	}
	id, page := binary.BigEndian.Uint32(raw), int(binary.BigEndian.Uint16(raw[4:]))
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.kept, func(k *kept) bool { return k.id == id })
	if i < 0 {
		return nil, 0, errOldCursor
	}
	switch k := s.kept[i]; {
	case k.tool != tool:
		return nil, 0, fmt.Errorf("the cursor is of an answer of the tool %s, and the tool %s is asked: give it to %[1]s", k.tool, tool)
	case question != "{}" && question != k.question:
		return nil, 0, errors.New("the cursor goes on with the answer to another question: leave the other arguments out, or ask anew without the cursor")
	case page >= len(k.pages):
		return nil, 0, errNoCursor
	default:
		return k, page, nil
	}
}
