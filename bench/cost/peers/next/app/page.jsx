export default function Page() {
  return 'A shop'
}
