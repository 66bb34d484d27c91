package doc

import "strconv"

// small spares an allocation for the numbers that files are full of.
var small = func() (s [1024]string) {
	for i := range s {
		s[i] = strconv.Itoa(i)
	}
	return s
}()

func itoa(n int) string {
	if 0 <= n && n < len(small) {
		return small[n]
	}
	return strconv.Itoa(n)
}
