package ash

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// User is the user that a program runs as. This is only shown: files keep their real owners.
type User struct {
	UID, GID int64
	Name     string  // empty: not known
	Groups   []int64 // GID among them
}

func (u User) name() string {
	switch {
	case u.Name != "":
		return u.Name
	case u.UID == 0:
		return "root"
	}
	return strconv.FormatInt(u.UID, 10)
}

// isID accepts no option, or one of -u, -g, -G, and -un.
func isID(args []string) bool {
	return len(args) == 0 || len(args) == 1 && slices.Contains([]string{"-u", "-g", "-G", "-un", "-nu"}, args[0])
}

func id(c *command, args []string) int {
	u := c.env.User
	text := fmt.Sprintf("uid=%d(%s) gid=%d groups=%s", u.UID, u.name(), u.GID, join(u.Groups, ","))
	if len(args) == 1 {
		switch args[0] {
		case "-u":
			text = strconv.FormatInt(u.UID, 10)
		case "-g":
			text = strconv.FormatInt(u.GID, 10)
		case "-G":
			text = join(u.Groups, " ")
		default:
			text = u.name()
		}
	}
	fmt.Fprintln(c.Stdout, text)
	return 0
}

func join(numbers []int64, separator string) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(texts, separator)
}
