package klog

import (
	"strings"
	"time"
)

// Header is the beginning of an entry in klog's text format, such as
//
//	E1122 14:44:49.949469   27384 configmap.go:193] "Error syncing pod" err="..."
type Header struct {
	Level byte
	Where string
	// Rest is what follows the header.
	Rest string

	month, day, hour, minute, second, nano int
}

// headerTime is how long a header is up to the end of its time.
const headerTime = len("I0102 15:04:05.000000")

// maxWhere bounds the name of a source file with its line, in bytes.
const maxWhere = 256

// ReadHeader reads the beginning of an entry. It looks at no more than the header, so that lines which nobody wants
// cost little.
func ReadHeader(line string) (h Header, ok bool) {
	if len(line) < headerTime+2 || line[5] != ' ' || line[8] != ':' || line[11] != ':' || line[14] != '.' || line[headerTime] != ' ' {
		return h, false
	}
	switch line[0] {
	case 'I', 'W', 'E', 'F':
		h.Level = line[0]
	default:
		return h, false
	}
	parts := [...]struct {
		to       *int
		from, n  int
		min, max int
	}{
		{&h.month, 1, 2, 1, 12}, {&h.day, 3, 2, 1, 31}, {&h.hour, 6, 2, 0, 23}, {&h.minute, 9, 2, 0, 59}, {&h.second, 12, 2, 0, 59}, {&h.nano, 15, 6, 0, 999999},
	}
	for _, p := range parts {
		n, ok := digits(line[p.from : p.from+p.n])
		if !ok || n < p.min || n > p.max {
			return h, false
		}
		*p.to = n
	}
	h.nano *= 1000
	rest := strings.TrimLeft(line[headerTime:], " ")
	pid, rest, found := strings.Cut(rest, " ")
	if _, number := digits(pid); !found || !number {
		return h, false
	}
	end := strings.IndexByte(rest[:min(len(rest), maxWhere)], ']')
	if end < 0 || strings.IndexByte(rest[:end], ' ') >= 0 {
		return h, false
	}
	h.Where, h.Rest = rest[:end], strings.TrimPrefix(rest[end+1:], " ")
	return h, true
}

// digits reads a number without a sign. ok is false for an empty text, and for one of more than nine digits.
func digits(s string) (n int, ok bool) {
	if s == "" || len(s) > 9 {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}

// Time returns when the entry was written: in the zone of near, and in the twelve months before the day after near.
func (h *Header) Time(near time.Time) time.Time {
	var at time.Time
	for year := near.Year() + 1; year > near.Year()-8; year-- { // 29 February is in one of eight years
		at = time.Date(year, time.Month(h.month), h.day, h.hour, h.minute, h.second, h.nano, near.Location())
		if at.Day() == h.day && !at.After(near.Add(24*time.Hour)) {
			break
		}
	}
	return at.UTC()
}

// Message returns the message in quotes that follows the header, still quoted; ok is false if the entry is not
// structured.
func (h *Header) Message() (quoted string, ok bool) {
	n := quotedLen(h.Rest)
	return h.Rest[:n], n > 0
}

// quotedLen returns how long the text in double quotes is with which s begins; 0: it begins with none.
func quotedLen(s string) int {
	if s == "" || s[0] != '"' {
		return 0
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		case '\n':
			return 0
		}
	}
	return 0
}
