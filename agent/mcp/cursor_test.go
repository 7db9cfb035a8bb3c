package mcp

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
)

var threePages = [][]byte{[]byte(`"a":1`), []byte(`"a":2`), []byte(`"a":3`)}

// TestCursor: a cursor leads to its page, and to no other.
func TestCursor(t *testing.T) {
	s := newShelf()
	k := s.put("why", `{"pod":"web"}`, threePages)
	for page := range threePages {
		for _, question := range []string{"{}", `{"pod":"web"}`} {
			got, at, err := s.find("why", question, s.cursor(k, page))
			if err != nil || got != k || at != page {
				t.Errorf("page %d is found as %d, %v", page, at, err)
			}
		}
	}
	second := s.cursor(k, 1)
	if _, _, err := s.find("pods", "{}", second); err == nil || !strings.Contains(err.Error(), "of the tool why") {
		t.Errorf("another tool takes the cursor: %v", err)
	}
	if _, _, err := s.find("why", `{"pod":"db"}`, second); err == nil || !strings.Contains(err.Error(), "another question") {
		t.Errorf("another question takes the cursor: %v", err)
	}
	for range keep {
		s.put("why", "{}", threePages)
	}
	if _, _, err := s.find("why", "{}", second); !errors.Is(err, errOldCursor) {
		t.Errorf("a forgotten answer: %v", err)
	}
	if _, _, err := newShelf().find("why", "{}", second); !errors.Is(err, errNoCursor) {
		t.Errorf("the cursor of another server: %v", err)
	}
}

// TestOnePage: an answer of one page is not kept.
func TestOnePage(t *testing.T) {
	s := newShelf()
	for range 2 * keep {
		s.put("why", "{}", threePages[:1])
	}
	if len(s.kept) != 0 {
		t.Errorf("%d answers are kept", len(s.kept))
	}
}

// TestEachBit: a cursor of which any bit was changed is refused.
func TestEachBit(t *testing.T) {
	s := newShelf()
	raw, err := base64.RawURLEncoding.DecodeString(s.cursor(s.put("why", "{}", threePages), 1))
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * len(raw) {
		raw[bit/8] ^= 1 << (bit % 8)
		if _, _, err := s.find("why", "{}", base64.RawURLEncoding.EncodeToString(raw)); !errors.Is(err, errNoCursor) {
			t.Errorf("with another bit %d: %v", bit, err)
		}
		raw[bit/8] ^= 1 << (bit % 8)
	}
}

// FuzzCursor: no text that somebody makes up is a cursor.
func FuzzCursor(f *testing.F) {
	s := newShelf()
	k := s.put("why", "{}", threePages)
	f.Add("")
	f.Add("abc")
	f.Add("AAAAAQABAAAAAAAA")
	f.Add(s.cursor(k, 7)) // signed, and there is no such page
	f.Fuzz(func(t *testing.T, cursor string) {
		if _, page, err := s.find("why", "{}", cursor); err == nil && s.cursor(k, page) != cursor {
			t.Errorf("%q is taken", cursor)
		}
	})
}
