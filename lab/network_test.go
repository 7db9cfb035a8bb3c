package lab

import (
	"net"
	"net/netip"
	"reflect"
	"strconv"
	"testing"
)

func TestParseRoutes(t *testing.T) {
	const text = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	010200C0	0003	0	0	0	00000000	0	0	0
eth0	000200C0	00000000	0001	0	0	0	00FFFFFF	0	0	0
tun0	0000D60A	00000000	0001	0	0	0	0000FFFF	0	0	0
`
	want := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("10.214.0.0/16")}
	if got := parseRoutes(text); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestFreeSubnet(t *testing.T) {
	prefixes := func(all ...string) (p []netip.Prefix) {
		for _, s := range all {
			p = append(p, netip.MustParsePrefix(s))
		}
		return p
	}
	for _, c := range []struct {
		first byte
		taken []netip.Prefix
		want  string
	}{
		{7, nil, "10.214.7.0/24"},
		{7, prefixes("10.214.7.9/32", "10.214.8.0/23", "fd00::/64"), "10.214.10.0/24"},
		{255, prefixes("10.214.255.0/24"), "10.214.0.0/24"},
	} {
		got, ok := freeSubnet(c.first, c.taken)
		if !ok || got.String() != c.want {
			t.Errorf("from %d without %v: got %v, %t, want %s", c.first, c.taken, got, ok, c.want)
		}
	}
	if got, ok := freeSubnet(1, prefixes("10.0.0.0/8")); ok {
		t.Errorf("got %v where everything is taken", got)
	}
}

func TestChoosePorts(t *testing.T) {
	first, err := choosePorts("seed", 0, "a")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(first["a"]))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ports, err := choosePorts("seed", first["a"]+1, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	if ports["a"] < first["a"]+2 || ports["a"] == ports["b"] {
		t.Errorf("got %v after %v, which is in use, and its neighbour, which is not wanted", ports, first)
	}
}
