/**
 * English words before the colon; after it what Chinese, Japanese and Korean say in two characters, the unit
 * in which those scripts are indexed. So a question in one language finds a tool described in the other.
 */
export const TRANSLATIONS = `
create : 创建 創建 新建 建立 作成 생성
generate : 生成
add : 添加 新增 追加 추가
delete remove : 删除 刪除 移除 削除 삭제
get fetch : 获取 獲取 取得
query lookup : 查询 查詢 조회
search find : 搜索 搜尋 查找 検索 검색
list : 列出 列表 一覧 목록
read : 读取 讀取 阅读 読取
write : 写入 寫入
edit : 编辑 編輯 編集 편집
update : 更新
modify change : 修改 変更 변경
save : 保存 储存 저장
send : 发送 發送 送信 전송
open : 打开 開啟
close : 关闭 關閉
start : 启动 啟動 開始 시작
stop : 停止 중지
run execute : 运行 執行 执行 実行 실행
copy : 复制 複製 복사
move : 移动 移動 이동
download : 下载 下載
upload : 上传 上傳
convert : 转换 轉換 変換 변환
translate translation : 翻译 翻譯 翻訳 번역
analyze analysis : 分析 분석
calculate : 计算 計算 계산
compare : 比较 比較 비교
summary summarize : 总结 摘要 要約 요약
recommend : 推荐 推薦 추천
check verify : 检查 檢查 验证 確認 확인
book reserve : 预订 預訂 予約 예약
buy purchase order : 购买 購買 購入 订单 訂單 注文 구매 주문
pay payment : 支付 付款 결제
weather : 天气 天氣 天気 날씨
forecast : 预报 預報 予報 예보
temperature : 气温 氣溫 温度 気温 기온 온도
news : 新闻 新聞 뉴스
file : 文件 档案 檔案 파일
folder directory : 目录 目錄 폴더
document : 文档 文檔 文書 문서
table spreadsheet : 表格
email mail : 邮件 郵件 邮箱 메일
message : 消息 信息 訊息 메시
calendar schedule : 日历 日曆 日程 予定 일정 달력
meeting : 会议 會議 会議 회의
event : 活动 活動 事件
task todo : 任务 任務 作业 할일
note memo : 笔记 筆記 메모
user : 用户 用戶 사용
account : 账户 帳戶 账号 계정
password : 密码 密碼
database : 数据 數據 資料
image picture photo : 图片 圖片 图像 照片 画像 写真 사진
video : 视频 視頻 影片 動画 영상
audio : 音频 音頻 音声 음성
music song : 音乐 音樂 歌曲 音楽 음악 노래
movie film : 电影 電影 映画 영화
book novel : 书籍 小说 小説
website web page : 网站 網站 网页 網頁
map : 地图 地圖 地図 지도
location address : 位置 地址 地点 住所 위치 주소
route direction : 路线 路線 导航 導航 경로
distance : 距离 距離 거리
travel trip : 旅行 旅游 旅遊 여행
hotel : 酒店 旅馆 宾馆 호텔
flight : 航班 机票 機票 항공
train : 火车 火車 列车 列車 电车 電車 기차
ticket : 车票 門票 门票 票务 余票
station : 车站 車站
car vehicle : 汽车 汽車
restaurant : 餐厅 餐廳 饭店 식당 맛집
food meal : 食物 美食 料理 음식
recipe : 食谱 食譜 菜谱 레시
price cost : 价格 價格 价钱 価格 料金 가격
stock share : 股票 株価 주식 주가
currency exchange : 汇率 匯率 货币 貨幣 為替 통화 환율
bank : 银行 銀行 은행
loan : 贷款 貸款 대출
tax : 税务 税金 세금
company : 公司 企业 企業 会社 회사
product : 产品 產品 商品 제품 상품
job career : 工作 职位 招聘 求人 채용
health medical : 健康 医疗 醫療 医療 건강 의료
doctor hospital : 医生 醫生 医院 病院 의사 병원
sport : 体育 體育 스포
game : 游戏 遊戲 게임
education learning : 教育 学习 學習 学習 교육 학습
question : 问题 問題 质问 質問 질문
language : 语言 語言 言語 언어
text : 文本 文字 텍스
code : 代码 代碼 코드
program software : 程序 程式 软件 軟體
server : 服务 伺服
chart graph : 图表 圖表 차트
date : 日期 날짜
time : 时间 時間 시간
number : 数字 數字 号码
city : 城市 도시
country : 国家 國家 국가
person : 人员 人物
image draw : 绘图 绘制
hot trending ranking : 热门 热搜 热榜 排行 榜单 人气 人気 인기
`;
