//go:build linux

package uprobe

import (
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/inside/reading"
	"github.com/podstep/podstep/probes/memory"
)

// TestTime: the memory of a time.Time gives that time.
func TestTime(t *testing.T) {
	now := time.Now()
	for _, want := range []time.Time{
		now, now.Add(time.Hour), now.Round(0), now.UTC(), now.Add(-200 * 365 * 24 * time.Hour),
		time.Unix(0, 0), time.Unix(1, 999999999), time.Unix(-1, 5), time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 1, time.UTC),
	} {
		b := unsafe.Slice((*byte)(unsafe.Pointer(&want)), unsafe.Sizeof(want))
		if got, ok := timeOf(b).(time.Time); !ok || !got.Equal(want) {
			t.Errorf("%v is read as %v", want, got)
		}
	}
	if got := timeOf(make([]byte, 24)); got != nil {
		t.Errorf("the zero time is read as %v", got)
	}
}

// TestValues: a slot of a record gives a value of its kind.
func TestValues(t *testing.T) {
	long := strings.Repeat("x", 400)
	number := func(n uint64) reading.Record {
		return reading.Record{Have: [reading.MaxValues]uint8{reading.HaveNumber}, Value: [reading.MaxValues]uint64{n}}
	}
	text := func(s string, have uint8) (r reading.Record) {
		r.Have[0], r.Value[0] = have, 7<<32|uint64(len(s))
		copy(r.Text[7:], s)
		return r
	}
	names := map[int64]string{2: "create", -1: "none"}
	for _, x := range []struct {
		name string
		r    reading.Record
		form memory.Form
		want any
	}{
		{"text", text("web", reading.HaveText), memory.Form{Kind: memory.String}, "web"},
		{"no text", text("", reading.HaveText), memory.Form{Kind: memory.String}, ""},
		{"text that is cut", text("pull it "+long, reading.HaveCut), memory.Form{Kind: memory.String}, "pull it…"},
		{"text that is cut in its first word", text(long, reading.HaveCut), memory.Form{Kind: memory.String}, redact.Redacted + "…"},
		{"text that is cut in a password", text("pull https://user:hunter2", reading.HaveCut), memory.Form{Kind: memory.String}, "pull…"},
		{"text that is cut in a token", text("refused ghp_0123456789abcde", reading.HaveCut), memory.Form{Kind: memory.String}, "refused…"},
		{"text that is cut in a command", text(`command "cat hunter2 `+long, reading.HaveCut), memory.Form{Kind: memory.String}, "command <redacted>…"},
		{"text that is cut within a character", text("für é\xc3", reading.HaveCut), memory.Form{Kind: memory.String}, "für…"},
		{"text that was not read", reading.Record{}, memory.Form{Kind: memory.String}, nil},
		{"text of a number", number(7), memory.Form{Kind: memory.String}, nil},
		{"number of a text", text("web", reading.HaveText), memory.Form{Kind: memory.Int64}, nil},
		{"true", number(1), memory.Form{Kind: memory.Bool}, true},
		{"false, before other bytes", number(0xff00), memory.Form{Kind: memory.Bool}, false},
		{"nil", number(0), memory.Form{Kind: memory.IsNil}, true},
		{"not nil", number(0xc000), memory.Form{Kind: memory.NotNil}, true},
		{"duration", number(5e9), memory.Form{Kind: memory.Duration}, 5 * time.Second},
		{"int8", number(0x17f), memory.Form{Kind: memory.Int8}, int64(127)},
		{"int8 below zero", number(0x1ff), memory.Form{Kind: memory.Int8}, int64(-1)},
		{"int16", number(0xabcd_ffff), memory.Form{Kind: memory.Int16}, int64(-1)},
		{"int32", number(0xabcd_ffff_fffe), memory.Form{Kind: memory.Int32}, int64(-2)},
		{"int64", number(1<<64 - 1), memory.Form{Kind: memory.Int64}, int64(-1)},
		{"uint8", number(0x1ff), memory.Form{Kind: memory.Uint8}, int64(255)},
		{"uint16", number(0x1ffff), memory.Form{Kind: memory.Uint16}, int64(65535)},
		{"uint32", number(0x1ffffffff), memory.Form{Kind: memory.Uint32}, int64(4294967295)},
		{"a name", number(0xff_0000_0002), memory.Form{Kind: memory.Int32, Names: names}, "create"},
		{"a name below zero", number(1<<64 - 1), memory.Form{Kind: memory.Int64, Names: names}, "none"},
		{"a number without a name", number(3), memory.Form{Kind: memory.Int64, Names: names}, int64(3)},
		{"short time", text("123456789012345", reading.HaveText), memory.Form{Kind: memory.Time}, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			if got := valueIn(&x.r, source{form: &x.form}); got != x.want {
				t.Errorf("it is %v (%T), want %v", got, got, x.want)
			}
			if got := valueIn(&x.r, source{form: &x.form, slot: -1}); got != nil {
				t.Errorf("what is not read is %v", got)
			}
		})
	}
}

// TestRecordOf: fewer bytes than a record has give none.
func TestRecordOf(t *testing.T) {
	b := make([]byte, unsafe.Sizeof(reading.Record{})+8)
	if recordOf(b) == nil {
		t.Error("a record is none")
	}
	if recordOf(b[:len(b)-9]) != nil || recordOf(nil) != nil || recordOf(b[1:]) != nil {
		t.Error("too few bytes, or such as begin at an odd address, are a record")
	}
}

// TestPod: a record gives the pod that it has.
func TestPod(t *testing.T) {
	r := &seen{at: &planned{side: &side{}}}
	var parts []source
	for i, name := range []string{memory.UID, memory.Namespace, memory.Name, memory.Version} {
		parts = append(parts, source{name: name, slot: i})
		r.put(i, name+"-x")
	}
	if got, want := podIn(&r.Record, parts), (probes.PodRef{UID: "uid-x", Namespace: "namespace-x", Name: "name-x", Version: "resourceVersion-x"}); got != want {
		t.Errorf("the pod is %+v, want %+v", got, want)
	}
	if got := podIn(&r.Record, parts[1:]); got != nil {
		t.Errorf("without a uid the pod is %+v", got)
	}
	if got := podIn(&r.Record, []source{{name: memory.ID, slot: 2}}); got != "name-x" {
		t.Errorf("the id is %v", got)
	}
}
