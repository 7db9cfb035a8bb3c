package lab

import (
	"fmt"
	"hash/fnv"
	"net"
	"strconv"
)

// Ports are looked for below those that the kernel gives to connections (32768 and up): one of these could be taken
// between our look and our use.
const (
	firstPort = 20000
	lastPort  = 32000
)

// choosePorts finds a free loopback port for each of names, but not the port not. Two directories begin at different
// ports, so two labs that start at once are unlikely to meet.
func choosePorts(seed string, not int, names ...string) (map[string]int, error) {
	hash := fnv.New32a()
	hash.Write([]byte(seed))
	port := firstPort + int(hash.Sum32()%(lastPort-firstPort))
	ports := map[string]int{}
	for tried := 0; len(names) > 0; tried++ {
		if tried > lastPort-firstPort {
			return nil, fmt.Errorf("no free port between %d and %d on 127.0.0.1", firstPort, lastPort)
		}
		if port++; port >= lastPort {
			port = firstPort
		}
		if port != not && portFree(port) {
			ports[names[0]], names = port, names[1:]
		}
	}
	return ports, nil
}

func portFree(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	l.Close()
	return true
}
