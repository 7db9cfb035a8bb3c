package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// chooseSubnet finds a /24 for pods that overlaps with none of this machine's networks.
func chooseSubnet(hash string) (netip.Prefix, error) {
	taken, err := networks()
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("choose pod network: %w", err)
	}
	var first byte
	fmt.Sscanf(hash, "%2x", &first)
	subnet, ok := freeSubnet(first, taken)
	if !ok {
		return subnet, errors.New("choose pod network: every network in 10.214.0.0/16 is in use on this machine")
	}
	return subnet, nil
}

func freeSubnet(first byte, taken []netip.Prefix) (netip.Prefix, bool) {
candidates:
	for i := range 256 {
		subnet := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 214, first + byte(i), 0}), 24)
		for _, t := range taken {
			if t.Overlaps(subnet) {
				continue candidates
			}
		}
		return subnet, true
	}
	return netip.Prefix{}, false
}

// networks returns the networks in which this machine has an address or to which it has an IPv4 route, except the
// default route.
func networks() ([]netip.Prefix, error) {
	var all []netip.Prefix
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	for _, a := range addrs {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			all = append(all, prefix.Masked())
		}
	}
	routes, err := os.ReadFile("/proc/net/route")
	if err != nil {
		return nil, err
	}
	return append(all, parseRoutes(string(routes))...), nil
}

// parseRoutes reads /proc/net/route, whose numbers are in the machine's byte order: little endian wherever a lab runs.
func parseRoutes(text string) []netip.Prefix {
	var all []netip.Prefix
	for _, line := range strings.Split(text, "\n")[1:] {
		field := strings.Fields(line)
		if len(field) < 8 {
			continue
		}
		var dest, mask [4]byte
		if !littleEndian(field[1], &dest) || !littleEndian(field[7], &mask) {
			continue
		}
		ones, _ := net.IPMask(mask[:]).Size()
		if ones > 0 {
			all = append(all, netip.PrefixFrom(netip.AddrFrom4(dest), ones))
		}
	}
	return all
}

func littleEndian(hex string, into *[4]byte) bool {
	n, err := fmt.Sscanf(hex, "%2x%2x%2x%2x", &into[3], &into[2], &into[1], &into[0])
	return err == nil && n == 4
}

// hostAddress returns the machine's own address in the pod network, which is the node's IP.
func hostAddress(subnet netip.Prefix) netip.Addr { return subnet.Addr().Next() }

// createBridge makes the pods' network before the kubelet starts, because the kubelet wants an address that is not
// loopback.
func createBridge(ip, bridge string, subnet netip.Prefix) error {
	address := netip.PrefixFrom(hostAddress(subnet), subnet.Bits()).String()
	for _, args := range [][]string{
		{"link", "add", "name", bridge, "type", "bridge"},
		{"address", "add", address, "dev", bridge},
		{"link", "set", bridge, "up"},
	} {
		if err := runIP(ip, args...); err != nil {
			return fmt.Errorf("create bridge: %w", err)
		}
	}
	return nil
}

// removeBridge removes the bridge, and the pods' ends on it at once: the kernel would remove those only some time
// after the pods are gone.
func removeBridge(ip, bridge string) error {
	if _, err := os.Stat("/sys/class/net/" + bridge); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	ports, err := filepath.Glob("/sys/class/net/" + bridge + "/brif/*")
	if err != nil {
		return fmt.Errorf("remove bridge: %w", err)
	}
	for _, port := range ports {
		err := runIP(ip, "link", "delete", filepath.Base(port))
		if _, gone := os.Stat(port); err != nil && gone == nil {
			return fmt.Errorf("remove network interface: %w", err)
		}
	}
	if err := runIP(ip, "link", "delete", bridge); err != nil {
		return fmt.Errorf("remove bridge: %w", err)
	}
	return nil
}

func runIP(ip string, args ...string) error {
	out, err := exec.Command(ip, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
