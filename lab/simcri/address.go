package simcri

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// addresses gives pods their addresses, each once before any is used again.
type addresses struct {
	network netip.Prefix
	last    netip.Addr
	used    map[netip.Addr]struct{}
}

// maxAddresses bounds how many addresses are tried to find a free one.
const maxAddresses = 1 << 16

func newAddresses(network netip.Prefix) *addresses {
	first := network.Masked().Addr().Next() // the gateway's, on a real node
	return &addresses{network: network, last: first, used: map[netip.Addr]struct{}{}}
}

func (a *addresses) take() (netip.Addr, error) {
	next := a.last
	for range maxAddresses {
		next = next.Next()
		if !a.network.Contains(next) {
			next = a.network.Masked().Addr().Next().Next()
		}
		if _, used := a.used[next]; !used && a.network.Contains(next) {
			a.used[next], a.last = struct{}{}, next
			return next, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("plugin type=%q failed (add): no IP addresses available in range set: %s", "host-local", a.network)
}

func (a *addresses) free(addr netip.Addr) { delete(a.used, addr) }

// addressOf returns the address on which a pod's ports are opened. s.mu is held.
func (s *Server) addressOf(b *sandbox) string {
	if b.address.IsValid() {
		return b.address.String()
	}
	return s.opts.NodeAddress.String()
}

// claim keeps two labs from giving out the same addresses: each holds an
// abstract unix socket named for its network.
type claim struct{ l net.Listener }

func (c *claim) close() { c.l.Close() }

var loopback = netip.MustParsePrefix("127.0.0.0/8")

// openNetwork finds the network of the pods.
func (s *Server) openNetwork() error {
	if p := s.opts.PodNetwork; p.IsValid() {
		if !p.Addr().Is4() || !loopback.Overlaps(p) || p.Bits() < loopback.Bits() || p.Bits() > 30 {
			return fmt.Errorf("the pods' network %s is not a part of %s with room for pods", p, loopback)
		}
		s.addresses = newAddresses(p)
		return nil
	}
	for n := byte(64); n < 255; n++ {
		p := netip.PrefixFrom(netip.AddrFrom4([4]byte{127, n, 0, 0}), 16)
		l, err := net.Listen("unix", "@podstep-sim/"+p.String())
		if err == nil {
			s.claim, s.addresses = &claim{l}, newAddresses(p)
			return nil
		}
	}
	return errors.New("every network 127.64.0.0/16 to 127.254.0.0/16 is taken by another lab")
}
