package marks

import (
	"encoding/json"

	"github.com/podstep/podstep/agent/reason"
)

// Kept is a bookmark as it is written to a file, for the next time that its recording is opened.
type Kept struct {
	// Seq is the agent's number of the event. Every recording of the event has the same number, and so has the
	// screen from which a recording was made.
	Seq uint64 `json:"seq"`
	UID string `json:"uid,omitempty"`
	Row string `json:"row,omitempty"`
}

// keptFile is the bookmarks of one recording.
type keptFile struct {
	// Recording is the path that the recording had when a bookmark was last set. It serves people who look into the
	// file.
	Recording string `json:"recording"`
	Bookmarks []Kept `json:"bookmarks"`
}

// MaxKept bounds the bookmarks of a recording. MaxFile bounds the bytes of their file, which other programs can
// write as well.
const (
	MaxKept = 10_000
	MaxFile = 4 << 20
)

// Encode returns the text of the file with the bookmarks of a recording.
func Encode(recording string, all []Kept) ([]byte, error) {
	if err := few(all); err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(keptFile{recording, all}, "", " ")
	return append(text, '\n'), err
}

func few(all []Kept) error {
	if len(all) > MaxKept {
		return reason.Errorf("%d bookmarks; at most %d are kept", "有 %d 个书签；最多保存 %d 个", len(all), MaxKept)
	}
	return nil
}

// Decode reads a text that Encode made.
func Decode(text []byte) ([]Kept, error) {
	var f keptFile
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	return f.Bookmarks, few(f.Bookmarks)
}

// Keep returns the bookmarks as a file has them. seqAt returns the number of the event at a position; ok is false if
// there is no such event.
func (b *Bookmarks) Keep(seqAt func(pos int) (seq uint64, ok bool)) (all []Kept) {
	for _, m := range b.list {
		if seq, ok := seqAt(m.Pos); ok {
			all = append(all, Kept{seq, m.UID, m.Row})
		}
	}
	return all
}

// Seqs returns the numbers of the bookmarks' events.
func Seqs(all []Kept) (seqs []uint64) {
	for _, k := range all {
		seqs = append(seqs, k.Seq)
	}
	return seqs
}

// Restore adds the bookmarks of a file to the present ones. at maps the numbers of their events to positions.
// Restore returns the bookmarks whose events are not there.
func (b *Bookmarks) Restore(all []Kept, at map[uint64]int) (missing []Kept) {
	for _, k := range all {
		pos, ok := at[k.Seq]
		if !ok {
			missing = append(missing, k)
			continue
		}
		if m := (Bookmark{Pos: pos, UID: k.UID, Row: k.Row, restored: true}); !b.Has(m) {
			b.Toggle(m)
		}
	}
	return missing
}

// ToEvent replaces a bookmark at a row by one at the row's event. It is for a row that is not there, or that differs
// from the row of the recording, or of the podstep, in which the bookmark was set.
func (b *Bookmarks) ToEvent(m Bookmark) {
	if m.Row == "" {
		return
	}
	if b.Has(m) {
		b.Toggle(m)
	}
	if event := (Bookmark{Pos: m.Pos}); !b.Has(event) {
		b.Toggle(event)
	}
}

// Is reports whether what is selected is the row of a bookmark.
func (m Bookmark) Is(here Bookmark) bool { return same(m, here) }
