# Statistics of a web server's log: split, match, substitute, count, sort.
function swap(i, j, t) { t = order[i]; order[i] = order[j]; order[j] = t }
function sort(low, high, i, last) {
    if (low >= high) return
    swap(low, int((low + high) / 2))
    last = low
    for (i = low + 1; i <= high; i++) if (hits[order[i]] > hits[order[low]] || hits[order[i]] == hits[order[low]] && order[i] < order[low]) swap(++last, i)
    swap(low, last)
    sort(low, last - 1)
    sort(last + 1, high)
}
{
    split($4, clock, ":")
    hour = clock[2] + 0
    by_hour[hour]++
    path = $7
    sub(/\?.*$/, "", path)
    gsub(/%20/, "_", path)
    if (match(path, /\.[a-z]+$/)) kind[substr(path, RSTART + 1)] += $10
    if ($9 ~ /^[45]/) failed[$9]++
    if (!(path in hits)) names++
    hits[path]++
    if (tolower($0) ~ /bot|crawler|spider/) robots++
    depth[split(path, parts, "/")]++
    bytes += $10 % 4096
    host[substr($1, 1, index($1, ".") - 1)]++
}
END {
    for (path in hits) order[++n] = path
    sort(1, n)
    print NR, names, n, robots, bytes
    for (i = 1; i <= 12 && i <= n; i++) printf "%6d %s\n", hits[order[i]], order[i]
    for (hour = 0; hour < 24; hour++) printf "%02d:%d ", hour, by_hour[hour]
    print ""
    for (i = 1; i < 9; i++) printf "%d ", depth[i]
    print ""
    print kind["html"], kind["png"], kind["css"], failed[404], failed[500], failed[403]
    for (i = 0; i < 256; i++) if (i in host) sum = (sum * 31 + host[i]) % 1000003
    print sum
}
