package curriculum

// Skeleton TEMP
func Skeleton() (map[string][]byte, error) { return nil, nil }
