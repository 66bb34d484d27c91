package table

import (
	"cmp"
	"strconv"
	"strings"
)

// Version is a client version, major and minor.
type Version struct{ Major, Minor int }

// V reads "1.19". Text that is no version is the zero Version, which a table
// may not use.
func V(text string) Version {
	major, minor, _ := strings.Cut(text, ".")
	a, err1 := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	if err1 != nil || err2 != nil {
		return Version{}
	}
	return Version{a, b}
}

// IsZero reports whether no version is stated.
func (v Version) IsZero() bool { return v == Version{} }

func (v Version) String() string { return strconv.Itoa(v.Major) + "." + strconv.Itoa(v.Minor) }

// Compare orders versions by number, so 1.9 comes before 1.11.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor))
}
